/**
 * One line per answered request. Who was refused, and who reached into a container, is always told; mere reading at verbosity 2. Never a
 * query, never a header, and of a path no more than what names a container. A flood of refusals, or of what nobody in particular asks, is
 * counted, not told.
 */
import { TokenBucket } from "../concurrency/token-bucket.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

export interface AccessLine {
  readonly method: string;
  readonly bucket: string;
  readonly status: number;
  readonly ms: number;
  /** Undefined: nobody was proven. */
  readonly user: string | undefined;
  readonly peer: string;
  /** Namespace, pod and container of what reaches into one, once that was allowed. */
  readonly target: string | undefined;
  /** Why it was not answered as asked. For the log only. */
  readonly why: string | undefined;
}

const UNPROVEN = { perSecond: 5, burst: 50 } as const;
const REACHES_IN: ReadonlySet<string> = new Set(["exec", "attach", "portForward", "run", "checkpoint"]);

export class AccessLog {
  readonly #log: Log;
  readonly #unproven: TokenBucket;
  #untold = 0;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#unproven = new TokenBucket(clock, UNPROVEN);
  }

  tell({ method, bucket, status, ms, user, peer, target, why }: AccessLine): void {
    const isRefused = status === 401 || status === 403;
    const isLimited = isRefused || user === undefined;
    if (isLimited && !this.#unproven.tryTake()) {
      this.#untold += 1;
      return;
    }
    const fields = { method, path: bucket, target, status, durationMs: Math.round(ms), user, peer, why };
    const untold = isLimited && this.#untold > 0 ? { linesNotTold: this.#untold } : {};
    if (isLimited) this.#untold = 0;
    this.#log.info(isRefused || REACHES_IN.has(bucket) ? 0 : 2, "Answered a request", { ...fields, ...untold });
  }
}
