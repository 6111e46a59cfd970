/**
 * Loaded into an agent before its own program (`--expose-gc --import`). At an interval it collects garbage and appends
 * the remaining resource usage as one line to a file. Its module URL names file and interval:
 * `?file=/path&everyMs=5000`. A worker thread of the agent writes to a separate file.
 */
import { appendFileSync, readdirSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import { AbortListeners } from "./abort-listeners.ts";

export interface ResourceSample {
  readonly atMs: number;
  readonly heapBytes: number;
  /** ArrayBuffers, which are outside the V8 heap. */
  readonly buffersBytes: number;
  readonly residentBytes: number;
  readonly descriptors: number;
  readonly timers: number;
  /** Sockets, pipes, pending requests and everything else that keeps the event loop alive, except timers. */
  readonly handles: number;
  readonly abortListeners: number;
}

export interface ResourceFault {
  readonly fault: string;
}

export const probeAddress = (file: string, everyMs: number): string =>
  `${import.meta.url.split("?")[0]}?${new URLSearchParams({ file, everyMs: String(everyMs) }).toString()}`;

export const probeFiles = (file: string): { readonly main: string; readonly thread: string } => ({
  main: file,
  thread: `${file}.thread`,
});

function watchOwnProcess(file: string, everyMs: number): void {
  const listeners = new AbortListeners();
  const write = (line: ResourceSample | ResourceFault) => appendFileSync(file, `${JSON.stringify(line)}\n`);
  const sample = () => {
    globalThis.gc?.();
    const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
    const resources = process.getActiveResourcesInfo();
    const timers = resources.filter((name) => name === "Timeout" || name === "Immediate").length;
    write({
      atMs: Date.now(),
      heapBytes: heapUsed,
      buffersBytes: arrayBuffers,
      residentBytes: rss,
      descriptors: readdirSync("/proc/self/fd").length,
      timers,
      handles: resources.length - timers,
      abortListeners: listeners.count(),
    });
  };
  process.on("uncaughtExceptionMonitor", (error, origin) => write({ fault: `${origin}: ${String(error)}` }));
  setInterval(sample, everyMs).unref();
}

const { searchParams } = new URL(import.meta.url);
const asked = searchParams.get("file");
if (asked !== null) {
  const { main, thread } = probeFiles(asked);
  watchOwnProcess(isMainThread ? main : thread, Number(searchParams.get("everyMs")));
}
