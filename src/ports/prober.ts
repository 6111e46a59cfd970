/**
 * Probes an application over the network. Each call has a time limit and takes the caller's signal. It rejects with a
 * `ProbeError`, or with the signal's reason when the caller gives up. Every call uses its own connection and resets it
 * at the end, so that none stays behind on the node. Environment proxies are ignored and certificates are not verified:
 * the probe addresses exactly this target.
 */
import type { HttpGet } from "../domain/probes/http-get.ts";

export interface HttpAnswer {
  readonly status: number;
  /** At most as many bytes as were requested. */
  readonly body: Uint8Array;
}

/**
 * `status` is a status name of grpc.health.v1, such as "SERVING". A refusal contains the gRPC code and the server's
 * message.
 */
export type GrpcHealth =
  | { readonly kind: "status"; readonly status: string }
  | { readonly kind: "refused"; readonly code: number; readonly message: string };

export interface ProbeTarget {
  readonly host: string;
  readonly port: number;
}

export interface Prober {
  /**
   * Sends one GET, for probes and lifecycle hooks. Follows redirects to the same host within the time limit. Any other
   * response is the result, including a redirect to another host. The body is truncated to `bodyBytesMax`.
   */
  http(
    get: HttpGet,
    limits: { readonly limitMs: number; readonly bodyBytesMax: number },
    signal: AbortSignal,
  ): Promise<HttpAnswer>;
  /** Resolves when the connection is accepted. */
  tcp(target: ProbeTarget, limitMs: number, signal: AbortSignal): Promise<void>;
  /** Queries grpc.health.v1 without TLS. Retries the connection until the time limit, as gRPC does. */
  grpc(
    target: ProbeTarget,
    request: { readonly service: string; readonly userAgent: string },
    limitMs: number,
    signal: AbortSignal,
  ): Promise<GrpcHealth>;
}

/** The step that failed. */
export type ProbeStep = "connect" | "answer" | "body";

/**
 * "theirs": the application failed; "late": no answer in time; "ours": this machine lacks a port, memory or a name
 * server.
 */
export type ProbeFault = "theirs" | "late" | "ours";

/** The error for a plain HTTP response to a TLS handshake. */
export const PLAIN_ANSWER = "http: server gave HTTP response to HTTPS client";

export class ProbeError extends Error {
  override readonly name = "ProbeError";
  readonly step: ProbeStep;
  readonly fault: ProbeFault;
  /** In Go's words, without the target. */
  readonly detail: string;
  /** The URL that was requested when the error occurred; empty if there is none. */
  readonly url: string;
  constructor(step: ProbeStep, fault: ProbeFault, detail: string, url = "") {
    super(detail);
    this.step = step;
    this.fault = fault;
    this.detail = detail;
    this.url = url;
  }
}
