/**
 * Profiles of this process at Go's paths, in V8's formats, which Chrome DevTools and speedscope read. `profile` is a
 * CPU profile; `heap` and `allocs` are sampled profiles of the allocations during the request. Only one profile is
 * taken at a time.
 */
import type { ServerResponse } from "node:http";
import { sendJson, sendText } from "../responses.ts";
import { HttpError, type Route, type RouteRequest } from "../route.ts";

export interface Profiles {
  readonly commandLine: readonly string[];
  /** Both return JSON. */
  cpu(ms: number, signal: AbortSignal): Promise<string>;
  heap(ms: number, signal: AbortSignal): Promise<string>;
}

const CPU_SECONDS = 30;
const HEAP_SECONDS = 10;
const SECONDS_MAX = 600;

const INDEX = `/debug/pprof/

Types of profiles available:
profile?seconds=${CPU_SECONDS}\tCPU, as V8 writes it (.cpuprofile)
heap?seconds=${HEAP_SECONDS}\tallocations, sampled, as V8 writes it (.heapprofile)
allocs?seconds=${HEAP_SECONDS}\tthe same
cmdline\tthe command line of this process
`;

export function profilingRoute(profiles: Profiles): Route {
  let isBusy = false;
  const alone = async (take: () => Promise<string>): Promise<string> => {
    if (isBusy) throw new HttpError(500, "Could not enable CPU profiling: cpu profiling already in use\n");
    isBusy = true;
    try {
      return await take();
    } finally {
      isBusy = false;
    }
  };
  const answer = async ({ parts, query, signal }: RouteRequest, response: ServerResponse): Promise<void> => {
    switch (parts["*"]) {
      case "":
        return sendText(response, 200, INDEX);
      case "cmdline":
        return sendText(response, 200, profiles.commandLine.join("\0"));
      case "profile": {
        const ms = durationMs(query, CPU_SECONDS);
        return send(response, "profile.cpuprofile", await alone(() => profiles.cpu(ms, signal)));
      }
      case "heap":
      case "allocs": {
        const ms = durationMs(query, HEAP_SECONDS);
        return send(response, `${parts["*"]}.heapprofile`, await alone(() => profiles.heap(ms, signal)));
      }
      default:
        throw new HttpError(404, "Unknown profile\n");
    }
  };
  const [methods, subresources] = [["GET"], ["proxy"]] as const;
  return {
    path: "/debug/pprof/*",
    methods,
    subresources,
    switch: "profiling",
    readOnlyPort: false,
    longRunning: true,
    answer,
  };
}

const send = (response: ServerResponse, name: string, profile: string) =>
  sendJson(response, profile, { "Content-Disposition": `attachment; filename="${name}"` });

/** As in Go, an invalid number of seconds selects the default. */
function durationMs(query: URLSearchParams, initialSeconds: number): number {
  const asked = Number(query.get("seconds") ?? "");
  const seconds = Number.isFinite(asked) && asked > 0 ? asked : initialSeconds;
  if (seconds > SECONDS_MAX) throw new HttpError(400, "profile duration exceeds server's WriteTimeout\n");
  return seconds * 1000;
}
