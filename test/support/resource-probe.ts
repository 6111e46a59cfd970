/**
 * Loaded into an agent before its own program (`--expose-gc --import`): again and again it collects the garbage and writes what is left to a file, a line
 * each time. Its address says where to and how often: `?file=/path&everyMs=5000`. A thread of the agent's writes to a file of its own.
 */
import { appendFileSync, readdirSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import { AbortListeners } from "./abort-listeners.ts";

export interface ResourceSample {
  readonly atMs: number;
  readonly heapBytes: number;
  /** Of buffers, which are not on the heap. */
  readonly buffersBytes: number;
  readonly residentBytes: number;
  readonly descriptors: number;
  readonly timers: number;
  /** Sockets, pipes, requests under way and whatever else keeps the loop alive, without the timers. */
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
