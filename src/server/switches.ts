/** Parts of the API that the configuration can disable. */
import { HttpError, type RouteSwitch } from "./route.ts";
import { type Place, requireSlash, SlashMissing } from "./router.ts";

export interface Switches {
  /** False disables everything that monitoring does not read. */
  readonly debugging: boolean;
  readonly profiling: boolean;
  readonly debugFlags: boolean;
  readonly systemLogs: boolean;
}

/** For the read-only port, which does not authenticate. */
export const FOR_MONITORS: Switches = { debugging: false, profiling: false, debugFlags: false, systemLogs: false };

/** Without debugging handlers these paths answer 405; other disabled paths answer 404. */
const SAID_TO_BE_CLOSED: ReadonlySet<string> = new Set([
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
export function refuseClosed(place: Place, by: RouteSwitch | undefined, switches: Switches): void {
  const { path, endsInSlash } = place;
  if (!switches.debugging) {
    const directory = path.slice(0, path[0] === "debug" ? 2 : 1);
    if (!SAID_TO_BE_CLOSED.has(directory.join("/"))) return;
    if (path.length === directory.length && !endsInSlash) throw new SlashMissing(path);
    throw new HttpError(405, "Debug endpoints are disabled.\n");
  }
  const what = closedBy(by, switches);
  if (what === undefined) return;
  requireSlash(place);
  throw new HttpError(405, `${what} endpoint is disabled.\n`);
}

function closedBy(by: RouteSwitch | undefined, switches: Switches): string | undefined {
  if (by === "profiling" && !switches.profiling) return "profiling";
  if (by === "debugFlags" && !switches.debugFlags) return "flags";
  if (by === "systemLogs" && !switches.systemLogs) return "logs";
  return undefined;
}
