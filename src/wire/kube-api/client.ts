/**
 * The API server over HTTP/2 and JSON.
 *
 * An instance is cheap: it opens no connection until the first request, and after that about one per hundred concurrent
 * requests. Heartbeats get their own instance with a shorter deadline, so that they wait neither behind other requests
 * in the rate limit nor on a busy connection. `close` ends everything and leaves nothing behind.
 */

import { assert } from "../../base/assert.ts";
import { isDefined } from "../../base/is-defined.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { TokenBucket } from "../../concurrency/token-bucket.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { noTracer, type Tracer } from "../../ports/tracer.ts";
import { type Connection, type Credentials, secureContextOf } from "./connection.ts";
import { type Authenticator, authenticatorFor } from "./credentials.ts";
import { ClosedError, Requester } from "./requester.ts";
import { SessionPool } from "./session-pool.ts";
import { apiServerOver, type WatchSeconds } from "./verbs.ts";
import { WatchEnded } from "./watch.ts";

export interface KubeApiOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly random: Random;
  readonly userAgent?: string;
  /** Undefined: requests are not traced. */
  readonly tracer?: Tracer;
  /** The deadline of a call, including its wait for the rate limit and its retries. For a watch: until it is open. */
  readonly requestLimitMs?: number;
  readonly requestsPerSecond?: number;
  readonly burst?: number;
  /** How often a call is retried that the server refused with a retry delay, or never processed. */
  readonly retriesMax?: number;
  readonly watchSeconds?: WatchSeconds;
  readonly connectLimitMs?: number;
  /** A ping is sent after a silence of this length ... */
  readonly pingEveryMs?: number;
  /** ... and a connection that leaves it unanswered for this long is given up. */
  readonly pingLimitMs?: number;
}

export interface KubeApi extends ApiServer {
  /** Applies from now on. Open watches and requests finish with the old credentials. */
  replaceCredentials(credentials: Credentials): void;
  /**
   * Ends open watches as if the server had ended them. Their readers open new ones with the credentials of that time.
   */
  endWatches(): void;
  /** Rejects requests in progress and resolves when every connection is closed. */
  close(): Promise<void>;
  readonly sessionsOpen: number;
  readonly streamsOpen: number;
}

export function createKubeApi(options: KubeApiOptions): KubeApi {
  const { connection, clock, random } = options;
  const url = new URL(connection.url);
  assert(url.protocol === "https:", `the API server is spoken to over https only, not ${connection.url}`);
  let credentials = connection.credentials;
  const authenticator = new LatestCell(authenticatorFor(credentials, clock));
  const known = (signal: AbortSignal): Promise<Authenticator> => waitForValue(authenticator, isDefined, signal);
  let watching = new AbortController();
  const closing = new AbortController();
  const pool = new SessionPool({
    url: url.origin,
    serverName: connection.serverName,
    secureContext: secureContextOf(connection),
    clock,
    connectLimitMs: options.connectLimitMs ?? 10_000,
    pingEveryMs: options.pingEveryMs ?? 10_000,
    pingLimitMs: options.pingLimitMs ?? 10_000,
  });
  const requester = new Requester({
    clock,
    random,
    pool,
    bucket: new TokenBucket(clock, { perSecond: options.requestsPerSecond ?? 50, burst: options.burst ?? 100 }),
    authenticator: known,
    userAgent: options.userAgent ?? "deckhand",
    tracer: options.tracer ?? noTracer,
    origin: url.origin,
    limitMs: options.requestLimitMs ?? 30_000,
    retriesMax: options.retriesMax ?? 3,
    closing: closing.signal,
  });
  const watchSeconds = options.watchSeconds ?? { min: 300, max: 600 };
  return {
    ...apiServerOver(requester, url.pathname.replace(/\/$/, ""), random, watchSeconds, () => watching.signal),
    replaceCredentials(next) {
      // Build the secure context first: a broken key throws here, and then nothing has changed.
      if (!sameOnTheConnection(credentials, next)) {
        pool.replace(secureContextOf({ ca: connection.ca, credentials: next }));
      }
      credentials = next;
      authenticator.set(authenticatorFor(next, clock));
    },
    endWatches() {
      const ended = watching;
      watching = new AbortController();
      ended.abort(new WatchEnded());
    },
    renewConnections: () => pool.renew(),
    async close() {
      closing.abort(new ClosedError());
      await pool.close();
    },
    get sessionsOpen() {
      return pool.sessionsOpen;
    },
    get streamsOpen() {
      return pool.streamsOpen;
    },
  };
}

/** A token is sent with each request; only a certificate belongs to the connection. */
function sameOnTheConnection(a: Credentials, b: Credentials): boolean {
  if (a.kind !== "certificate" || b.kind !== "certificate") return a.kind !== "certificate" && b.kind !== "certificate";
  return a.certificatePem === b.certificatePem && a.keyPem === b.keyPem;
}
