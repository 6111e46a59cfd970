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
import type { PluginCredentialSource } from "./plugin-credentials.ts";
import { ClosedError, Requester } from "./requester.ts";
import { SessionPool } from "./session-pool.ts";
import { apiServerOver, type WatchSeconds } from "./verbs.ts";
import { WatchEnded } from "./watch.ts";

export interface KubeApiOptions {
  readonly connection: Connection;
  /** Needed for credentials of an exec plugin; shared by the clients that use them. */
  readonly source?: PluginCredentialSource | undefined;
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
  let presented = connection.credentials;
  const authenticatorOf = (credentials: Credentials): Authenticator | undefined => {
    const made = authenticatorFor(credentials, {
      clock,
      source: options.source,
      onCertificate: (certificate = { kind: "anonymous" }) => {
        // A plugin may answer after `replaceCredentials`: its credentials are of the past then.
        if (authenticator.value !== made || sameOnTheConnection(presented, certificate)) return;
        const hadCertificate = presented.kind === "certificate";
        present(certificate);
        if (hadCertificate) endWatches();
      },
    });
    return made;
  };
  const authenticator = new LatestCell(authenticatorOf(presented));
  const known = (signal: AbortSignal): Promise<Authenticator> => waitForValue(authenticator, isDefined, signal);
  let watching = new AbortController();
  const closing = new AbortController();
  const pool = poolOf(options);
  /** Throws for a broken key, before anything has changed. */
  const present = (next: Credentials) => {
    if (!sameOnTheConnection(presented, next)) pool.replace(secureContextOf({ ca: connection.ca, credentials: next }));
    presented = next;
  };
  const endWatches = () => {
    const ended = watching;
    watching = new AbortController();
    ended.abort(new WatchEnded());
  };
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
      present(next);
      authenticator.set(authenticatorOf(next));
    },
    endWatches,
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

function poolOf({ connection, clock, connectLimitMs, pingEveryMs, pingLimitMs }: KubeApiOptions): SessionPool {
  return new SessionPool({
    url: new URL(connection.url).origin,
    serverName: connection.serverName,
    verifiesServer: connection.isInsecure !== true,
    proxy: connection.proxy,
    secureContext: secureContextOf(connection),
    clock,
    connectLimitMs: connectLimitMs ?? 10_000,
    pingEveryMs: pingEveryMs ?? 10_000,
    pingLimitMs: pingLimitMs ?? 10_000,
  });
}

/** A token is sent with each request; only a certificate belongs to the connection. */
function sameOnTheConnection(a: Credentials, b: Credentials): boolean {
  if (a.kind !== "certificate" || b.kind !== "certificate") return a.kind !== "certificate" && b.kind !== "certificate";
  return a.certificatePem === b.certificatePem && a.keyPem === b.keyPem;
}
