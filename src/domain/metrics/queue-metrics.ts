/** What waits for its turn and what is being worked upon, by queue: in the words of client-go's queues, of the loops that have one turn per pod here. */
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

/** Told by whoever gives the turns. */
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
  gauge("workqueue_depth", "What waits for its turn.", ({ waitingSinceMs }) => waitingSinceMs.size);
  gauge("workqueue_unfinished_work_seconds", "How long what is under way has taken, all of it together.", (queue) =>
    sinceSeconds(queue).reduce((sum, seconds) => sum + seconds, 0),
  );
  gauge("workqueue_longest_running_processor_seconds", "How long the oldest of what is under way has taken.", (queue) =>
    Math.max(0, ...sinceSeconds(queue)),
  );
  const families: QueueFamilies = {
    adds: registry.counter({ name: "workqueue_adds_total", help: "What was put in the queue.", labels }),
    waits: registry.histogram({
      name: "workqueue_queue_duration_seconds",
      help: "How long it waited for its turn.",
      labels,
      buckets: SECONDS,
    }),
    works: registry.histogram({
      name: "workqueue_work_duration_seconds",
      help: "How long its turn took.",
      labels,
      buckets: SECONDS,
    }),
    retries: registry.counter({
      name: "workqueue_retries_total",
      help: "How often a turn failed in an unforeseen way, and is tried again.",
      labels,
    }),
  };
  /** A queue of this name, from now on. */
  return (name: string): Queue => {
    const queue = new Queue(name, nowMs, families);
    queues.push(queue);
    families.adds.expect(name);
    families.retries.expect(name);
    return queue;
  };
}
