/**
 * Metrics of waiting and current work, by queue. They are those of client-go's queues, applied to the loops that work
 * by pod.
 */
import type { Counter, Histogram, Reading, Registry } from "../../base/metrics/registry.ts";
import { growing } from "./buckets.ts";

type NameLabel = readonly ["name"];

interface QueueFamilies {
  readonly adds: Counter<NameLabel>;
  readonly waits: Histogram<NameLabel>;
  readonly works: Histogram<NameLabel>;
  readonly retries: Counter<NameLabel>;
}

const SECONDS = growing(10e-9, 10, 10);

/** The code that schedules the work calls these methods. */
export class Queue {
  readonly name: string;
  readonly waitingSinceMs = new Map<unknown, number>();
  readonly workedSinceMs = new Map<unknown, number>();
  readonly #nowMs: () => number;
  readonly #families: QueueFamilies;

  constructor(name: string, nowMs: () => number, families: QueueFamilies) {
    this.name = name;
    this.#nowMs = nowMs;
    this.#families = families;
  }

  woken(key: unknown): void {
    if (this.waitingSinceMs.has(key)) return;
    this.waitingSinceMs.set(key, this.#nowMs());
    this.#families.adds.increment(this.name);
  }

  begun(key: unknown): void {
    const [nowMs, sinceMs] = [this.#nowMs(), this.waitingSinceMs.get(key)];
    this.waitingSinceMs.delete(key);
    if (sinceMs !== undefined) this.#families.waits.observe((nowMs - sinceMs) / 1000, this.name);
    this.workedSinceMs.set(key, nowMs);
  }

  failed(): void {
    this.#families.retries.increment(this.name);
  }

  ended(key: unknown): void {
    const sinceMs = this.workedSinceMs.get(key);
    this.workedSinceMs.delete(key);
    if (sinceMs !== undefined) this.#families.works.observe((this.#nowMs() - sinceMs) / 1000, this.name);
  }
}

export function queueMetrics(registry: Registry, nowMs: () => number) {
  const queues: Queue[] = [];
  const labels = ["name"] as const;
  const gauge = (name: string, help: string, read: (queue: Queue) => number) =>
    registry.reads({ kind: "gauge", name, help, labels }, () =>
      queues.map((queue): Reading<NameLabel> => [read(queue), queue.name]),
    );
  const sinceSeconds = ({ workedSinceMs }: Queue) => [...workedSinceMs.values()].map((ms) => (nowMs() - ms) / 1000);
  gauge("workqueue_depth", "[BETA] Current depth of workqueue", ({ waitingSinceMs }) => waitingSinceMs.size);
  gauge(
    "workqueue_unfinished_work_seconds",
    "[BETA] How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
    (queue) => sinceSeconds(queue).reduce((sum, seconds) => sum + seconds, 0),
  );
  gauge(
    "workqueue_longest_running_processor_seconds",
    "[BETA] How many seconds has the longest running processor for workqueue been running.",
    (queue) => Math.max(0, ...sinceSeconds(queue)),
  );
  const families: QueueFamilies = {
    adds: registry.counter({
      name: "workqueue_adds_total",
      help: "[BETA] Total number of adds handled by workqueue",
      labels,
    }),
    waits: registry.histogram({
      name: "workqueue_queue_duration_seconds",
      help: "[BETA] How long in seconds an item stays in workqueue before being requested.",
      labels,
      buckets: SECONDS,
    }),
    works: registry.histogram({
      name: "workqueue_work_duration_seconds",
      help: "[BETA] How long in seconds processing an item from workqueue takes.",
      labels,
      buckets: SECONDS,
    }),
    retries: registry.counter({
      name: "workqueue_retries_total",
      help: "[BETA] Total number of retries handled by workqueue",
      labels,
    }),
  };
  /** Adds a queue of this name. */
  return (name: string): Queue => {
    const queue = new Queue(name, nowMs, families);
    queues.push(queue);
    families.adds.expect(name);
    families.retries.expect(name);
    return queue;
  };
}
