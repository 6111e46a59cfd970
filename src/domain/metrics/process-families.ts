/** Metrics of this process: those that every exporter has, and those of Node.js in place of Go's. */
import type { Family } from "../../base/metrics/family.ts";

/** Of one process, at one time. */
export interface ProcessStats {
  readonly startWallMs: number;
  /** Includes the kernel's work for the process. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes: number;
  /** Infinity: no limit. */
  readonly virtualBytesMax: number;
  readonly openFiles: number;
  readonly openFilesMax: number;
  /** Of the machine's network as this process sees it. */
  readonly receivedBytes: number;
  readonly transmittedBytes: number;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  readonly externalBytes: number;
  /** The delay of the event loop since the last reading. */
  readonly loopDelay: { readonly meanSeconds: number; readonly p99Seconds: number; readonly maxSeconds: number };
}

/** No limit is the largest number, as in the Go client. */
const NO_LIMIT = 2 ** 64;

type Kind = "counter" | "gauge";

const family = (kind: Kind, name: string, value: number, help: string): Family => ({
  kind,
  name,
  help,
  samples: [{ labels: [], value }],
});

/** Part of every endpoint, so that readers recognize a counter that was reset by a restart. */
export const processStartFamily = ({ startWallMs }: Pick<ProcessStats, "startWallMs">): Family =>
  family(
    "gauge",
    "process_start_time_seconds",
    startWallMs / 1000,
    "[ALPHA] Start time of the process since unix epoch in seconds.",
  );

export function processFamilies(stats: ProcessStats): readonly Family[] {
  const { virtualBytesMax, loopDelay } = stats;
  return [
    processStartFamily(stats),
    family(
      "counter",
      "process_cpu_seconds_total",
      stats.cpuSeconds,
      "Total user and system CPU time spent in seconds.",
    ),
    family("gauge", "process_resident_memory_bytes", stats.residentBytes, "Resident memory size in bytes."),
    family("gauge", "process_virtual_memory_bytes", stats.virtualBytes, "Virtual memory size in bytes."),
    family(
      "gauge",
      "process_virtual_memory_max_bytes",
      Number.isFinite(virtualBytesMax) ? virtualBytesMax : NO_LIMIT,
      "Maximum amount of virtual memory available in bytes.",
    ),
    family("gauge", "process_open_fds", stats.openFiles, "Number of open file descriptors."),
    family("gauge", "process_max_fds", stats.openFilesMax, "Maximum number of open file descriptors."),
    family(
      "counter",
      "process_network_receive_bytes_total",
      stats.receivedBytes,
      "Number of bytes received by the process over the network.",
    ),
    family(
      "counter",
      "process_network_transmit_bytes_total",
      stats.transmittedBytes,
      "Number of bytes sent by the process over the network.",
    ),
    family("gauge", "nodejs_heap_size_used_bytes", stats.heapUsedBytes, "Used part of the V8 heap in bytes."),
    family("gauge", "nodejs_heap_size_total_bytes", stats.heapTotalBytes, "Size of the V8 heap in bytes."),
    family(
      "gauge",
      "nodejs_external_memory_bytes",
      stats.externalBytes,
      "Memory outside the V8 heap that is bound to JavaScript objects, in bytes.",
    ),
    family(
      "gauge",
      "nodejs_eventloop_lag_mean_seconds",
      loopDelay.meanSeconds,
      "Mean delay of the event loop in seconds.",
    ),
    family(
      "gauge",
      "nodejs_eventloop_lag_p99_seconds",
      loopDelay.p99Seconds,
      "99th percentile of the event loop's delay in seconds.",
    ),
    family(
      "gauge",
      "nodejs_eventloop_lag_max_seconds",
      loopDelay.maxSeconds,
      "Maximum delay of the event loop in seconds.",
    ),
  ];
}
