/**
 * Distributes requests to helper processes so that a hanging request affects only its own caller:
 *
 * - A request without an answer or a sign of progress within its limit is rejected with "unresponsive". Its helper is
 *   killed and not waited for.
 * - Few requests run at once, and one per group (a volume): other requests of the group wait behind it. A request that
 *   has become slow no longer counts among the few, nor does any request of a group that was unresponsive before. So
 *   they delay the others briefly, or not at all.
 * - A helper that the kernel does not let die is stuck. Its group is rejected at once while the helper lives, or until
 *   what it hangs on is unmounted. With too many stuck helpers all requests are rejected, because each helper keeps its
 *   memory. Unmounting is never rejected.
 */
import { errorText } from "../../base/error-text.ts";
import { RecentMap } from "../../base/recent-map.ts";
import type { Clock } from "../../ports/clock.ts";
import { MountError, type MountErrorCode } from "../../ports/mounts.ts";
import type { Helper } from "./helper-process.ts";
import type { FinalReply, HelperRequest } from "./protocol.ts";

export interface PoolLimits {
  /** Maximum number of quick requests at once. */
  readonly quickMax: number;
  /** Maximum number of slow requests beside them. Further ones count as quick. */
  readonly slowMax: number;
  readonly slowAfterMs: number;
  readonly stuckMax: number;
  /** How long a killed helper may take to die before it counts as stuck. */
  readonly dyingMs: number;
  readonly idleMs: number;
}

export const POOL_LIMITS: PoolLimits = {
  quickMax: 4,
  slowMax: 8,
  slowAfterMs: 250,
  stuckMax: 32,
  dyingMs: 1_000,
  idleMs: 10_000,
};

export interface Job {
  readonly request: HelperRequest;
  /** For the error message. */
  readonly operation: string;
  readonly path: string;
  readonly group: string;
  /** The request accesses no file system. It is the way out, and is never rejected because others hang. */
  readonly isHarmless?: boolean;
  readonly limitMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: (files: number) => void;
}

interface Waiting {
  readonly job: Job;
  readonly resolve: (reply: FinalReply) => void;
  readonly reject: (error: unknown) => void;
}

interface Running extends Waiting {
  readonly helper: Helper;
  slow: boolean;
  cancelLimit: () => void;
}

/** How many unresponsive groups are remembered: the most recent ones. */
const UNRESPONSIVE_GROUPS_MAX = 256;
const ENDING = "the agent ends";

export class HelperPool {
  readonly #clock: Clock;
  readonly #start: () => Helper;
  readonly #limits: PoolLimits;
  #waiting: readonly Waiting[] = [];
  readonly #running = new Set<Running>();
  readonly #idle = new Map<Helper, () => void>();
  /** Killed helpers that are not gone yet, with their groups, which wait for them briefly. */
  readonly #dying = new Map<Helper, string>();
  readonly #stuck = new Map<Helper, string>();
  readonly #unresponsiveGroups = new RecentMap<string, boolean>(UNRESPONSIVE_GROUPS_MAX);
  #closed = false;
  /**
   * Starting a process blocks everything for some milliseconds, so helpers start one at a time, with other work in
   * between.
   */
  #justStarted: { readonly cancel: () => void } | undefined;

  constructor(clock: Clock, start: () => Helper, limits: PoolLimits = POOL_LIMITS) {
    this.#clock = clock;
    this.#start = start;
    this.#limits = limits;
  }

  run(job: Job): Promise<FinalReply> {
    return new Promise((resolve, reject) => {
      if (job.signal.aborted) return reject(job.signal.reason);
      if (this.#closed) return reject(failure(job, "other", ENDING));
      const onAbort = () => this.#abort(waiting, job.signal.reason);
      const settled = () => job.signal.removeEventListener("abort", onAbort);
      const waiting: Waiting = {
        job,
        resolve: (reply) => {
          settled();
          resolve(reply);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      job.signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting = [...this.#waiting, waiting];
      this.#turn();
    });
  }

  /** What the group's helpers hang on is unmounted: treat the group as new. */
  resetGroup(group: string): void {
    this.#markResponsive(group);
    for (const [helper, held] of this.#stuck) if (held === group) this.#stuck.set(helper, "");
    this.#turn();
  }

  /** Resolves when no helper lives except those that cannot die. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#waiting) waiting.reject(failure(waiting.job, "other", ENDING));
    this.#waiting = [];
    this.#justStarted?.cancel();
    for (const running of this.#running) this.#drop(running, failure(running.job, "other", ENDING));
    const idle = [...this.#idle.keys()];
    for (const helper of idle) this.#retire(helper);
    await Promise.all([...this.#dying.keys(), ...idle].map((helper) => this.#goneOrStuck(helper)));
  }

  /** Rejects requests that have no chance, then starts those that may run now. */
  #turn(): void {
    const left: Waiting[] = [];
    for (const waiting of this.#waiting) {
      const rejectReason = this.#rejectReason(waiting.job);
      if (rejectReason !== undefined) waiting.reject(failure(waiting.job, "unresponsive", rejectReason));
      else if (this.#mayRun(waiting.job)) this.#begin(waiting);
      else left.push(waiting);
    }
    this.#waiting = left;
  }

  #rejectReason({ group, isHarmless = false }: Job): string | undefined {
    if (isHarmless) return undefined;
    if (this.#stuck.size >= this.#limits.stuckMax) return `${this.#stuck.size} helpers hang already`;
    return [...this.#stuck.values()].includes(group) ? "an earlier call still hangs there" : undefined;
  }

  #mayRun({ group }: Job): boolean {
    for (const { job } of this.#running) if (job.group === group) return false;
    for (const held of this.#dying.values()) if (held === group) return false;
    if (this.#idle.size === 0 && this.#justStarted !== undefined) return false;
    const slow = [...this.#running].filter((running) => running.slow).length;
    const { quickMax, slowMax } = this.#limits;
    if (this.#isUnresponsive(group)) return slow < slowMax;
    return this.#running.size - Math.min(slow, slowMax) < quickMax;
  }

  #markResponsive(group: string): void {
    // Only update a group that is in the map: others must not push anything out.
    if (this.#isUnresponsive(group)) this.#unresponsiveGroups.set(group, false);
  }

  #isUnresponsive(group: string): boolean {
    return this.#unresponsiveGroups.get(group) ?? false;
  }

  #begin(waiting: Waiting): void {
    const { job } = waiting;
    const helper = this.#helperFor(waiting);
    if (helper === undefined) return;
    const running: Running = { ...waiting, helper, slow: this.#isUnresponsive(job.group), cancelLimit: () => {} };
    this.#running.add(running);
    const cancelSlow = this.#clock.after(this.#limits.slowAfterMs, () => {
      running.slow = true;
      this.#turn();
    });
    const arm = () => {
      running.cancelLimit();
      running.cancelLimit = this.#clock.after(job.limitMs, () => this.#giveUp(running));
    };
    arm();
    const onProgress = (files: number) => {
      if (!this.#running.has(running)) return;
      arm();
      job.onProgress(files);
    };
    helper
      .run(job.request, onProgress)
      .finally(cancelSlow)
      .then(
        (reply) => this.#finish(running, () => running.resolve(reply), true),
        (error: unknown) =>
          this.#finish(running, () => running.reject(failure(job, "other", errorText(error), { cause: error })), false),
      );
  }

  #finish(running: Running, settle: () => void, reusable: boolean): void {
    if (!this.#running.delete(running)) return;
    running.cancelLimit();
    if (reusable) {
      this.#rest(running.helper);
      this.#markResponsive(running.job.group);
    }
    settle();
    this.#turn();
  }

  #giveUp(running: Running): void {
    const { job } = running;
    this.#unresponsiveGroups.set(job.group, true);
    this.#drop(running, failure(job, "unresponsive", `no answer within ${job.limitMs} ms`));
  }

  #abort(waiting: Waiting, reason: unknown): void {
    for (const running of this.#running) if (running.job === waiting.job) return this.#drop(running, reason);
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
    waiting.reject(reason);
  }

  #drop(running: Running, error: unknown): void {
    const { helper, job } = running;
    this.#running.delete(running);
    running.cancelLimit();
    helper.kill();
    this.#dying.set(helper, job.group);
    void this.#goneOrStuck(helper);
    running.reject(error);
    this.#turn();
  }

  async #goneOrStuck(helper: Helper): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(this.#limits.dyingMs, () => {
        const group = this.#dying.get(helper);
        if (this.#dying.delete(helper)) this.#stuck.set(helper, group ?? "");
        this.#turn();
        resolve();
      });
      void helper.ended.then(() => {
        cancel();
        this.#dying.delete(helper);
        this.#stuck.delete(helper);
        this.#turn();
        resolve();
      });
    });
  }

  #helperFor({ job, reject }: Waiting): Helper | undefined {
    try {
      return this.#takeIdle() ?? this.#startOne();
    } catch (error) {
      reject(failure(job, "other", errorText(error), { cause: error }));
      return undefined;
    }
  }

  #startOne(): Helper {
    const cancel = this.#clock.after(0, () => {
      this.#justStarted = undefined;
      this.#turn();
    });
    this.#justStarted = { cancel };
    return this.#start();
  }

  #takeIdle(): Helper | undefined {
    const [helper, stopWaiting] = [...this.#idle].at(-1) ?? [];
    if (helper === undefined) return undefined;
    stopWaiting?.();
    this.#idle.delete(helper);
    return helper;
  }

  #rest(helper: Helper): void {
    if (this.#closed || this.#idle.size >= this.#limits.quickMax) return helper.end();
    this.#idle.set(
      helper,
      this.#clock.after(this.#limits.idleMs, () => this.#retire(helper)),
    );
    // It may die while it is idle.
    void helper.ended.then(() => {
      this.#idle.get(helper)?.();
      this.#idle.delete(helper);
    });
  }

  #retire(helper: Helper): void {
    this.#idle.get(helper)?.();
    this.#idle.delete(helper);
    helper.end();
  }
}

const failure = ({ operation, path }: Job, code: MountErrorCode, detail: string, options?: ErrorOptions): MountError =>
  new MountError(operation, path, code, detail, options);
