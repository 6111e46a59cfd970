/**
 * The outcome of one probe attempt, and its messages. The four outcomes are: success, a bad answer from the
 * application, no answer in time, and an attempt that did not run because of the kubelet. The last one never counts.
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
  /** `state` is the Go kubelet's name for this outcome. */
  | { readonly kind: "notRun"; readonly state: "unknown" | "failure"; readonly message: string };

/** A probe that did not run because of the kubelet is retried at once, up to this many attempts in total. */
export const TRIES_MAX = 3;

/** Undefined: the outcome does not count. */
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

/** The event for users; undefined: none. */
export function reportOf(
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

/** The functions below use the Go kubelet's messages, because people and tools search for them. */

export function httpOutcome(answer: { readonly status: number; readonly bodyText: () => string }): ProbeOutcome {
  const { status } = answer;
  if (status >= 200 && status < 300) return { kind: "success" };
  if (status >= 300 && status < 400) {
    return { kind: "success", warning: `Probe terminated redirects, Response body: ${answer.bodyText()}` };
  }
  // The message never contains the body, which may hold data that not every reader of events may see.
  return { kind: "failure", message: `HTTP probe failed with statuscode: ${status}` };
}

/** How a network probe failed, as the Prober port reports it. */
interface NetworkFailure {
  readonly step: "connect" | "answer" | "body";
  readonly fault: "theirs" | "late" | "ours";
  readonly detail: string;
  readonly url: string;
}

export function httpFailure({ step, fault, detail, url }: NetworkFailure): ProbeOutcome {
  // An application that has begun to answer is alive: a failure of the rest says nothing about its health.
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

/** How long an attempt waited, and how much of that time the kubelet itself was delayed. */
export interface Waited {
  readonly waitedMs: number;
  readonly lostMs: number;
}

/** A timeout counts only if the kubelet listened for the whole limit, or for nearly all of it. */
export function discountLag(outcome: ProbeOutcome, { waitedMs, lostMs }: Waited, limitMs: number): ProbeOutcome {
  if (outcome.kind !== "timeout" || (waitedMs - lostMs) * 10 > limitMs * 9) return outcome;
  return notRun(`${outcome.message}; the node agent itself was held up for ${Math.round(lostMs)} ms`);
}

/**
 * The time limit of a retry. It grows with the lost time, so that a kubelet that is always delayed still detects an
 * application that never answers.
 */
export const patienceMs = (limitMs: number, lostMs: number): number => Math.min(limitMs + 2 * lostMs, 4 * limitMs);

const seconds = (count: number): string => formatGoDuration(BigInt(count) * 1_000_000_000n);
