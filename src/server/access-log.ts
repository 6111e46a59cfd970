/**
 * Logs one line per answered request: rejected requests (401, 403) and requests that access a container always, all
 * others at verbosity 2. Lines contain no query and no headers, and of the path only its label and the namespace, pod
 * and container. Lines for rejected or unauthenticated requests are rate-limited; dropped lines are counted.
 */
import { TokenBucket } from "../concurrency/token-bucket.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

export interface AccessLine {
  readonly method: string;
  readonly bucket: string;
  readonly status: number;
  readonly ms: number;
  /** Undefined: the client is not authenticated. */
  readonly user: string | undefined;
  readonly peer: string;
  /** Namespace, pod and container of a request that accesses a container, once it is authorized. */
  readonly target: string | undefined;
  /** Why the request failed. For the log only. */
  readonly why: string | undefined;
}

const UNPROVEN = { perSecond: 5, burst: 50 } as const;
const REACHES_IN: ReadonlySet<string> = new Set(["exec", "attach", "portForward", "run", "checkpoint"]);

export class AccessLog {
  readonly #log: Log;
  readonly #unproven: TokenBucket;
  #unreported = 0;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#unproven = new TokenBucket(clock, UNPROVEN);
  }

  log({ method, bucket, status, ms, user, peer, target, why }: AccessLine): void {
    const isRefused = status === 401 || status === 403;
    const isLimited = isRefused || user === undefined;
    if (isLimited && !this.#unproven.tryTake()) {
      this.#unreported += 1;
      return;
    }
    const fields = { method, path: bucket, target, status, durationMs: Math.round(ms), user, peer, why };
    const unreported = isLimited && this.#unreported > 0 ? { linesNotReported: this.#unreported } : {};
    if (isLimited) this.#unreported = 0;
    this.#log.info(isRefused || REACHES_IN.has(bucket) ? 0 : 2, "Answered a request", { ...fields, ...unreported });
  }
}
