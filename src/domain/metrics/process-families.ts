/** This process as metrics: what every exporter says of itself, and the engine in place of Go's. */
import type { Family } from "../../base/metrics/family.ts";

/** Of one process, at one moment. */
export interface ProcessFigures {
  readonly startWallMs: number;
  /** Of its own and of the kernel's work for it. */
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
  /** How late the event loop was since it was last asked. */
  readonly loopDelay: { readonly meanSeconds: number; readonly p99Seconds: number; readonly maxSeconds: number };
}

/** Where there is no limit it is the largest number that there is, as the Go client has it. */
const NO_LIMIT = 2 ** 64;

type Kind = "counter" | "gauge";

const family = (kind: Kind, name: string, value: number, help: string): Family => ({
  kind,
  name,
  help,
  samples: [{ labels: [], value }],
});

/** It goes with every endpoint, so that a counter which began anew is known for one. */
export const processStartFamily = ({ startWallMs }: Pick<ProcessFigures, "startWallMs">): Family =>
  family("gauge", "process_start_time_seconds", startWallMs / 1000, "When this process was started.");

export function processFamilies(figures: ProcessFigures): readonly Family[] {
  const { virtualBytesMax, loopDelay } = figures;
  return [
    processStartFamily(figures),
    family("counter", "process_cpu_seconds_total", figures.cpuSeconds, "Processor time of this process."),
    family("gauge", "process_resident_memory_bytes", figures.residentBytes, "Memory that this process holds."),
    family("gauge", "process_virtual_memory_bytes", figures.virtualBytes, "Address space of this process."),
    family(
      "gauge",
      "process_virtual_memory_max_bytes",
      Number.isFinite(virtualBytesMax) ? virtualBytesMax : NO_LIMIT,
      "Address space that this process may have.",
    ),
    family("gauge", "process_open_fds", figures.openFiles, "Files that this process has open."),
    family("gauge", "process_max_fds", figures.openFilesMax, "Files that this process may have open."),
    family(
      "counter",
      "process_network_receive_bytes_total",
      figures.receivedBytes,
      "What came in over the network that this process sees.",
    ),
    family(
      "counter",
      "process_network_transmit_bytes_total",
      figures.transmittedBytes,
      "What went out over the network that this process sees.",
    ),
    family("gauge", "nodejs_heap_size_used_bytes", figures.heapUsedBytes, "What of the engine's heap is in use."),
    family("gauge", "nodejs_heap_size_total_bytes", figures.heapTotalBytes, "The engine's heap."),
    family(
      "gauge",
      "nodejs_external_memory_bytes",
      figures.externalBytes,
      "Memory outside the heap that is bound to it.",
    ),
    family(
      "gauge",
      "nodejs_eventloop_lag_mean_seconds",
      loopDelay.meanSeconds,
      "The event loop's delay, on the average.",
    ),
    family(
      "gauge",
      "nodejs_eventloop_lag_p99_seconds",
      loopDelay.p99Seconds,
      "The event loop's delay, for all but one in a hundred.",
    ),
    family("gauge", "nodejs_eventloop_lag_max_seconds", loopDelay.maxSeconds, "The event loop's delay at its longest."),
  ];
}
