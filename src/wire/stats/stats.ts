/**
 * The Stats port on this machine. A separate thread reads thousands of small files, so that nothing else waits. The
 * thread starts with the first request and ends when it was idle for a while. A thread that does not answer in time is
 * given up with all its requests, and the next request starts another.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { raceAbort } from "../../concurrency/abort.ts";
import { DeadlineError, withDeadline } from "../../concurrency/deadline.ts";
import type { CgroupStats, StatsReading } from "../../domain/stats/stats-reading.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Stats, StatsQuestion } from "../../ports/stats.ts";
import { parseOwnGroup } from "./own-group.ts";
import type { ThreadAnswer, ThreadData, ThreadQuestion } from "./thread-messages.ts";

export interface StatsOptions {
  readonly clock: Clock;
  /** The URL of the thread's program. */
  readonly program: URL;
  /** The directory below which /proc and /sys are read. */
  readonly root?: string;
  readonly limitMs?: number;
  readonly idleMs?: number;
}

const LIMIT_MS = 10_000;
/** A thread ends at once, unless the kernel holds it. */
const END_MS = 2_000;
/** Longer than the usual pause between two requests of a client that polls. */
const IDLE_MS = 90_000;
/** The thread holds one reading; garbage need not wait in a large heap. */
const RESOURCES = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 };

export function createStats({
  clock,
  program,
  root = "/",
  limitMs = LIMIT_MS,
  idleMs = IDLE_MS,
}: StatsOptions): Stats & { close(): Promise<void>; readonly isAwake: boolean } {
  let thread: Thread | undefined;
  /** Given up, but not gone: the kernel still holds the thread. A second thread would hang there too. */
  let stuck: Thread | undefined;
  let cancelIdle = () => {};
  const rest = async () => {
    const ending = thread;
    thread = undefined;
    await ending?.end(new Error("the stats thread was stopped"));
  };
  const awake = (): Thread => {
    if (stuck?.hasExited === false) throw new Error("the thread that reads stats gives no answer and does not end");
    stuck = undefined;
    if (thread?.isGone === true) thread = undefined;
    thread ??= new Thread(program, { root });
    return thread;
  };
  return {
    get isAwake() {
      return thread !== undefined && !thread.isGone;
    },
    async read(question, signal) {
      cancelIdle();
      const asked = awake();
      try {
        return await withDeadline(clock, limitMs, signal, (limited) => raceAbort(asked.ask(question), limited));
      } catch (error) {
        if (error instanceof DeadlineError) {
          stuck = asked;
          void asked.end(error);
        }
        throw error;
      } finally {
        cancelIdle();
        cancelIdle = clock.after(idleMs, () => void rest());
      }
    },
    ownGroup: async () => parseOwnGroup(await readFile(join(root, "proc", "self", "cgroup"), "utf8")),
    async close() {
      cancelIdle();
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(END_MS, resolve);
      await Promise.race([rest(), promise]);
      cancel();
    },
  };
}

interface PendingRequest {
  readonly groups: CgroupStats[];
  readonly resolve: (reading: StatsReading) => void;
  readonly reject: (error: Error) => void;
}

class Thread {
  readonly #worker: Worker;
  readonly #requests = new Map<number, PendingRequest>();
  #asked = 0;
  isGone = false;
  hasExited = false;

  constructor(program: URL, data: ThreadData) {
    this.#worker = new Worker(program, { workerData: data, resourceLimits: RESOURCES, name: "stats" });
    // The thread must not keep an otherwise idle process alive.
    this.#worker.unref();
    this.#worker.on("message", (answer: ThreadAnswer) => this.#answered(answer));
    this.#worker.on("error", (error: Error) => this.#over(error));
    this.#worker.on("exit", (code) => {
      this.hasExited = true;
      this.#over(new Error(`the thread that reads stats ended with ${code}`));
    });
  }

  ask(question: StatsQuestion): Promise<StatsReading> {
    this.#asked += 1;
    const message: ThreadQuestion = { number: this.#asked, question };
    return new Promise((resolve, reject) => {
      this.#requests.set(message.number, { groups: [], resolve, reject });
      this.#worker.postMessage(message, []);
    });
  }

  async end(reason: Error): Promise<void> {
    this.#over(reason);
    await this.#worker.terminate();
  }

  #answered(answer: ThreadAnswer): void {
    const request = this.#requests.get(answer.number);
    if (answer.kind === "groups") {
      request?.groups.push(...answer.groups);
      return;
    }
    this.#requests.delete(answer.number);
    if (answer.kind === "failure") request?.reject(new Error(answer.failure));
    else request?.resolve({ ...answer.rest, groups: request.groups });
  }

  #over(reason: Error): void {
    this.isGone = true;
    for (const { reject } of this.#requests.values()) reject(reason);
    this.#requests.clear();
  }
}
