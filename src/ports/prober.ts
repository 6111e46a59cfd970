/**
 * Asks an application over the network how it is. Each call has the limit it is given and takes the caller's signal; it rejects with a
 * `ProbeError`, or with the signal's reason when the caller gave up. Nothing is kept between two calls: every one has a connection of its own,
 * which is reset at its end so that it does not stay behind on the node. Proxies of the environment are not used and certificates not
 * checked: it is this address that is asked.
 */
import type { HttpGet } from "../domain/probes/http-get.ts";

export interface HttpAnswer {
  readonly status: number;
  /** As much of it as was asked for. */
  readonly body: Uint8Array;
}

/** `status` is a word of grpc.health.v1, such as "SERVING"; a refusal has gRPC's number and the server's words. */
export type GrpcHealth =
  | { readonly kind: "status"; readonly status: string }
  | { readonly kind: "refused"; readonly code: number; readonly message: string };

export interface ProbeTarget {
  readonly host: string;
  readonly port: number;
}

export interface Prober {
  /**
   * One GET, for probes and for hooks. Redirects are followed that stay on the host, all within the one limit; any other answer is the answer,
   * also a redirect to another host. A body that is longer than `bodyBytesMax` is cut off there.
   */
  http(
    get: HttpGet,
    limits: { readonly limitMs: number; readonly bodyBytesMax: number },
    signal: AbortSignal,
  ): Promise<HttpAnswer>;
  /** Resolves when somebody has taken the connection. */
  tcp(target: ProbeTarget, limitMs: number, signal: AbortSignal): Promise<void>;
  /** Asks grpc.health.v1 without TLS. Whoever cannot be connected to is tried again until the limit, as gRPC does. */
  grpc(
    target: ProbeTarget,
    ask: { readonly service: string; readonly userAgent: string },
    limitMs: number,
    signal: AbortSignal,
  ): Promise<GrpcHealth>;
}

/** How far it came. */
export type ProbeStep = "connect" | "answer" | "body";

/** Theirs, or nobody said anything in time, or it is this machine that has no port, no memory or no name server for it. */
export type ProbeFault = "theirs" | "late" | "ours";

/** What a plain HTTP server's answer to a TLS greeting is told as. */
export const PLAIN_ANSWER = "http: server gave HTTP response to HTTPS client";

export class ProbeError extends Error {
  override readonly name = "ProbeError";
  readonly step: ProbeStep;
  readonly fault: ProbeFault;
  /** In Go's words, without what was asked. */
  readonly detail: string;
  /** What was asked when it happened; empty where there is no URL. */
  readonly url: string;
  constructor(step: ProbeStep, fault: ProbeFault, detail: string, url = "") {
    super(detail);
    this.step = step;
    this.fault = fault;
    this.detail = detail;
    this.url = url;
  }
}
