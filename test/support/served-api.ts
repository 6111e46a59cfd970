/**
 * The node's API on a free port, in this process: real sockets and TLS, with the routes and access rules that a test
 * gives it.
 */

import { LatestCell } from "../../src/concurrency/latest-cell.ts";
import type { ServingCertificate } from "../../src/domain/identity/certificate-pair.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { noTracer } from "../../src/ports/tracer.ts";
import { AccessLog } from "../../src/server/access-log.ts";
import type { AuthenticationParts } from "../../src/server/authentication.ts";
import type { AuthorizationParts } from "../../src/server/authorization.ts";
import { parseCertificates } from "../../src/server/certificate-pem.ts";
import { ConnectionLimiter } from "../../src/server/connection-limiter.ts";
import { Dispatch } from "../../src/server/dispatch.ts";
import type { EndpointToggles } from "../../src/server/endpoint-toggles.ts";
import { LIMITS } from "../../src/server/limits.ts";
import { runListener } from "../../src/server/listener.ts";
import type { RequestLabels } from "../../src/server/request-observer.ts";
import type { Route } from "../../src/server/route.ts";
import { Router } from "../../src/server/router.ts";
import { hostClock } from "../../src/wire/host/clock.ts";

export interface SaidLine {
  readonly level: number | "error";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ServeOptions {
  readonly routes: readonly Route[];
  readonly certificate?: ServingCertificate | undefined;
  readonly clientCa?: string | undefined;
  readonly failureIsFatal?: boolean;
  /** Plain HTTP, without authentication or authorization. */
  readonly readOnly?: boolean;
  readonly anonymous?: boolean;
  readonly tokens?: AuthenticationParts["tokens"];
  readonly authorization?: AuthorizationParts;
  readonly toggles?: Partial<EndpointToggles>;
  readonly streamsMax?: number;
  readonly streamIdleMs?: number;
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  readonly clock?: Clock;
  readonly port?: number;
}

export function serveApi(options: ServeOptions) {
  const clock = options.clock ?? hostClock;
  const shutdown = new AbortController();
  const said: SaidLine[] = [];
  const answered: (RequestLabels & { readonly status: number; readonly ms: number })[] = [];
  const log = {
    info: (level: number, message: string, fields = {}) => void said.push({ level, message, fields }),
    error: (message: string, error: unknown, fields = {}) =>
      void said.push({ level: "error", message, fields: { ...fields, err: String(error) } }),
  };
  const certificate = new LatestCell(options.certificate);
  const clientCa = new LatestCell(options.clientCa);
  const limiter = new ConnectionLimiter(LIMITS, clock);
  let underWay = 0;
  const dispatch = new Dispatch(
    {
      clock,
      log,
      tracer: noTracer,
      accessLog: new AccessLog(log, clock),
      observer: {
        onAsked: () => {
          underWay += 1;
        },
        onAnswered: (one) => {
          underWay -= 1;
          answered.push(one);
        },
      },
      router: new Router(options.routes),
      toggles: { debugging: true, profiling: true, debugFlags: true, systemLogs: true, ...options.toggles },
      access:
        options.readOnly === true
          ? undefined
          : {
              authentication: {
                clock,
                anonymous: options.anonymous ?? false,
                tokens: options.tokens,
                authorities: () => (clientCa.value === undefined ? [] : parseCertificates(clientCa.value)),
              },
              authorization: options.authorization ?? { mode: "alwaysAllow" },
            },
      limiter,
      streamIdleMs: options.streamIdleMs ?? 3_600_000,
      streamsMax: options.streamsMax ?? 100,
    },
    shutdown.signal,
  );
  const listening = Promise.withResolvers<number>();
  const settings = { minVersion: options.minVersion ?? "TLSv1.2", ciphers: CIPHERS, curves: "auto" } as const;
  const ended = runListener(
    {
      address: "127.0.0.1",
      port: options.port ?? 0,
      tls: options.readOnly === true ? undefined : { settings, certificate, clientCa },
      failureIsFatal: options.failureIsFatal ?? false,
    },
    { clock, log, limiter, dispatch, onListening: ({ port }) => listening.resolve(port) },
    shutdown.signal,
  );
  const stop = async () => {
    shutdown.abort(new Error("the test has ended"));
    await ended;
  };
  return {
    port: listening.promise,
    said,
    answered,
    underWay: () => underWay,
    certificate,
    clientCa,
    limiter,
    /** Rejects if the listener fails. */
    ended,
    stop,
  };
}

const CIPHERS = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-AES128-GCM-SHA256";
