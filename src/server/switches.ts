/** Parts of the API that the configuration may close. */
import { Refusal, type RouteSwitch } from "./route.ts";
import { type Place, requireSlash, SlashMissing } from "./router.ts";

export interface Switches {
  /** Closes all but what monitors read. */
  readonly debugging: boolean;
  readonly profiling: boolean;
  readonly debugFlags: boolean;
  readonly systemLogs: boolean;
}

/** Of the port that asks nobody who they are. */
export const FOR_MONITORS: Switches = { debugging: false, profiling: false, debugFlags: false, systemLogs: false };

/** The others are simply not there without debugging. */
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

/** Throws what to answer in place of a route that is closed, unless nothing is said about it. */
export function refuseClosed(place: Place, by: RouteSwitch | undefined, switches: Switches): void {
  const { path, endsInSlash } = place;
  if (!switches.debugging) {
    const folder = path.slice(0, path[0] === "debug" ? 2 : 1);
    if (!SAID_TO_BE_CLOSED.has(folder.join("/"))) return;
    if (path.length === folder.length && !endsInSlash) throw new SlashMissing(path);
    throw new Refusal(405, "Debug endpoints are disabled.\n");
  }
  const what = closedBy(by, switches);
  if (what === undefined) return;
  requireSlash(place);
  throw new Refusal(405, `${what} endpoint is disabled.\n`);
}

function closedBy(by: RouteSwitch | undefined, switches: Switches): string | undefined {
  if (by === "profiling" && !switches.profiling) return "profiling";
  if (by === "debugFlags" && !switches.debugFlags) return "flags";
  if (by === "systemLogs" && !switches.systemLogs) return "logs";
  return undefined;
}
