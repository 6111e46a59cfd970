/**
 * What came of one question, and how it is told. There are four outcomes: it went well, the application answered badly, it did not answer in
 * time, or the question was not put because of us. The last never counts.
 */
import { formatGoDuration } from "../../base/duration.ts";
import { goQuote } from "../../base/go-text.ts";
import { grpcErrorText, grpcStatusName } from "../../base/grpc-status.ts";
import type { ProbeResultKind } from "./count.ts";
import type { ProbeKind } from "./probe-spec.ts";

export type ProbeOutcome =
  | { readonly kind: "success"; readonly warning?: string }
  | { readonly kind: "failure"; readonly message: string }
  | { readonly kind: "timeout"; readonly message: string }
  /** `state` is the word that the Go kubelet has for it. */
  | { readonly kind: "notRun"; readonly state: "unknown" | "failure"; readonly message: string };

/** A question that was not put because of us is put again at once, up to so many times in all. */
export const TRIES_MAX = 3;

/** Undefined: it does not count. */
export function resultOf({ kind }: ProbeOutcome): ProbeResultKind | undefined {
  if (kind === "notRun") return undefined;
  return kind === "success" ? "success" : "failure";
}

const NAMES: Readonly<Record<ProbeKind, string>> = {
  startup: "Startup",
  liveness: "Liveness",
  readiness: "Readiness",
};

export const probeName = (kind: ProbeKind): string => NAMES[kind];

/** What users are told of it; undefined: nothing. */
export function toldOf(
  kind: ProbeKind,
  outcome: ProbeOutcome,
): { readonly reason: "Unhealthy" | "ProbeWarning"; readonly message: string } | undefined {
  const name = NAMES[kind];
  switch (outcome.kind) {
    case "success":
      if (outcome.warning === undefined) return undefined;
      return { reason: "ProbeWarning", message: `${name} probe warning: ${outcome.warning}` };
    case "failure":
    case "timeout":
      return { reason: "Unhealthy", message: `${name} probe failed: ${outcome.message}` };
    case "notRun":
      return {
        reason: "Unhealthy",
        message: `${name} probe errored and resulted in ${outcome.state} state: ${outcome.message}`,
      };
  }
}

/** Those below are told in Go's words: what people and tools look for. */

export function httpOutcome(answer: { readonly status: number; readonly bodyText: () => string }): ProbeOutcome {
  const { status } = answer;
  if (status >= 200 && status < 300) return { kind: "success" };
  if (status >= 300 && status < 400) {
    return { kind: "success", warning: `Probe terminated redirects, Response body: ${answer.bodyText()}` };
  }
  // Never with the body, which may hold what is not for everyone who reads events.
  return { kind: "failure", message: `HTTP probe failed with statuscode: ${status}` };
}

/** How a question over the network failed, as the Prober port says it. */
interface NetworkFailure {
  readonly step: "connect" | "answer" | "body";
  readonly fault: "theirs" | "late" | "ours";
  readonly detail: string;
  readonly url: string;
}

export function httpFailure({ step, fault, detail, url }: NetworkFailure): ProbeOutcome {
  // Whoever has begun to answer is there: how the rest of it fails says nothing of its health.
  if (step === "body") {
    const late = "context deadline exceeded (Client.Timeout or context cancellation while reading body)";
    return { kind: "notRun", state: "failure", message: fault === "late" ? late : detail };
  }
  const message = `Get ${goQuote(url)}: ${fault === "late" ? "context deadline exceeded (Client.Timeout exceeded while awaiting headers)" : detail}`;
  return networkOutcome(fault, message);
}

export const tcpFailure = ({ fault, detail }: NetworkFailure, address: string): ProbeOutcome =>
  networkOutcome(fault, fault === "late" ? `dial tcp ${address}: i/o timeout` : detail);

const GRPC_UNIMPLEMENTED = 12;

export function grpcOutcome(
  health:
    | { readonly kind: "status"; readonly status: string }
    | { readonly kind: "refused"; readonly code: number; readonly message: string },
): ProbeOutcome {
  if (health.kind === "status") {
    if (health.status === "SERVING") return { kind: "success" };
    return { kind: "failure", message: `service unhealthy (responded with ${goQuote(health.status)})` };
  }
  const { code, message } = health;
  if (code === GRPC_UNIMPLEMENTED) {
    const text = "error: this server does not implement the grpc health protocol (grpc.health.v1.Health)";
    return { kind: "failure", message: `${text}: ${message}` };
  }
  const error = grpcErrorText(grpcStatusName(code), message);
  return { kind: "failure", message: `error: health rpc probe failed: ${error}` };
}

export function grpcFailure(
  { step, fault, detail }: NetworkFailure,
  address: string,
  timeoutSeconds: number,
): ProbeOutcome {
  const limit = seconds(timeoutSeconds);
  if (fault !== "late") {
    return networkOutcome(fault, `error: failed to connect service at ${goQuote(address)}: ${detail}`);
  }
  const message =
    step === "connect"
      ? `timeout: failed to connect service ${goQuote(address)} within ${limit}: context deadline exceeded`
      : `timeout: health rpc did not complete within ${limit}`;
  return { kind: "timeout", message };
}

function networkOutcome(fault: NetworkFailure["fault"], message: string): ProbeOutcome {
  if (fault === "ours") return { kind: "notRun", state: "unknown", message };
  return { kind: fault === "late" ? "timeout" : "failure", message };
}

export const execOutcome = (exitCode: number, output: string): ProbeOutcome =>
  exitCode === 0 ? { kind: "success" } : { kind: "failure", message: output };

export const execTimeout = (command: readonly string[], timeoutSeconds: number): ProbeOutcome => ({
  kind: "timeout",
  message: `command timed out: ${goQuote(command.join(" "))} timed out after ${seconds(timeoutSeconds)}`,
});

export const notRun = (message: string): ProbeOutcome => ({ kind: "notRun", state: "unknown", message });

/** Of a question: how long it waited, and for how much of that we ourselves were held up. */
export interface Waited {
  readonly waitedMs: number;
  readonly lostMs: number;
}

/** An answer counts as late when we listened for as long as it may take, or nearly so. */
export function heedingLag(outcome: ProbeOutcome, { waitedMs, lostMs }: Waited, limitMs: number): ProbeOutcome {
  if (outcome.kind !== "timeout" || (waitedMs - lostMs) * 10 > limitMs * 9) return outcome;
  return notRun(`${outcome.message}; the node agent itself was held up for ${Math.round(lostMs)} ms`);
}

/** How long to wait when it is asked again, so that one who is held up all the time still finds out who never answers. */
export const patienceMs = (limitMs: number, lostMs: number): number => Math.min(limitMs + 2 * lostMs, 4 * limitMs);

const seconds = (count: number): string => formatGoDuration(BigInt(count) * 1_000_000_000n);
