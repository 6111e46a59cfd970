/** Parts of the API that the configuration can disable. */
import { HttpError, type RouteToggle } from "./route.ts";
import { type Place, requireSlash, SlashMissing } from "./router.ts";

export interface EndpointToggles {
  /** False disables everything that monitoring does not read. */
  readonly debugging: boolean;
  readonly profiling: boolean;
  readonly debugFlags: boolean;
  readonly systemLogs: boolean;
}

/** For the read-only port, which does not authenticate. */
export const READ_ONLY: EndpointToggles = { debugging: false, profiling: false, debugFlags: false, systemLogs: false };

/** Without debugging handlers these paths answer 405; other disabled paths answer 404. */
const DISABLED_WITH_405: ReadonlySet<string> = new Set([
  "run",
  "exec",
  "attach",
  "portForward",
  "containerLogs",
  "runningpods",
  "logs",
  "debug/pprof",
]);

/** Throws the response for a disabled route; returns if the route is enabled or answers 404. */
export function rejectDisabled(place: Place, by: RouteToggle | undefined, toggles: EndpointToggles): void {
  const { path, endsInSlash } = place;
  if (!toggles.debugging) {
    const directory = path.slice(0, path[0] === "debug" ? 2 : 1);
    if (!DISABLED_WITH_405.has(directory.join("/"))) return;
    if (path.length === directory.length && !endsInSlash) throw new SlashMissing(path);
    throw new HttpError(405, "Debug endpoints are disabled.\n");
  }
  const what = disabledBy(by, toggles);
  if (what === undefined) return;
  requireSlash(place);
  throw new HttpError(405, `${what} endpoint is disabled.\n`);
}

function disabledBy(by: RouteToggle | undefined, toggles: EndpointToggles): string | undefined {
  if (by === "profiling" && !toggles.profiling) return "profiling";
  if (by === "debugFlags" && !toggles.debugFlags) return "flags";
  if (by === "systemLogs" && !toggles.systemLogs) return "logs";
  return undefined;
}
