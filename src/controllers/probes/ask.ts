/**
 * Runs one probe of a container and returns the outcome. A probe that could not run because of us is repeated a few
 * times.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import type { LagMeter, LagWatch } from "../../concurrency/lag-meter.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import { OUTPUT_BYTES_MAX } from "../../domain/limits.ts";
import { describePod, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { hostAndPort, resolvePort } from "../../domain/probes/container-port.ts";
import { execCommand } from "../../domain/probes/exec-command.ts";
import { httpGetOf } from "../../domain/probes/http-get.ts";
import {
  execOutcome,
  execTimeout,
  grpcFailure,
  grpcOutcome,
  heedingLag,
  httpFailure,
  httpOutcome,
  notRun,
  type ProbeOutcome,
  patienceMs,
  TRIES_MAX,
  tcpFailure,
} from "../../domain/probes/outcome.ts";
import type { ProbeHandler, ProbeSpec } from "../../domain/probes/probe-spec.ts";
import type { Clock } from "../../ports/clock.ts";
import { ProbeError, type Prober } from "../../ports/prober.ts";
import { isRuntimeError, rpcText } from "../../ports/runtime-error.ts";
import type { ExecRuns } from "./exec-runs.ts";

export interface AskParts {
  readonly clock: Clock;
  readonly prober: Prober;
  readonly execs: ExecRuns;
  readonly lag: LagMeter;
  readonly userAgent: string;
}

export interface Asked {
  readonly spec: ProbeSpec;
  readonly container: Container;
  readonly id: string;
  /** The address that the probe connects to. */
  readonly ip: string;
  readonly pod: Pod;
  /** Aborts when the container is not probed at all any more; the `signal` of `ask` belongs to this probe only. */
  readonly life: AbortSignal;
}

/**
 * How to probe a container. Built once while pod and address stay the same, because hundreds of probes run per second.
 */
export type Question =
  | {
      readonly kind: "network";
      readonly limitMs: number;
      readonly put: (limitMs: number, signal: AbortSignal) => Promise<ProbeOutcome>;
      readonly failed: (error: ProbeError) => ProbeOutcome;
    }
  | { readonly kind: "command"; readonly run: (signal: AbortSignal) => Promise<ProbeOutcome> }
  /** The probe cannot run. */
  | { readonly kind: "refused"; readonly message: string };

export function questionOf(asked: Asked, parts: AskParts): Question {
  const { handler } = asked.spec;
  switch (handler.kind) {
    case "exec":
      return { kind: "command", run: (signal) => runCommand(handler, asked, parts, signal) };
    case "http":
      return httpQuestion(handler, asked, parts);
    case "tcp":
      return tcpQuestion(handler, asked, parts);
    case "grpc":
      return grpcQuestion(handler, asked, parts);
    case "missing":
      return {
        kind: "refused",
        message: `missing probe handler for ${describePod(podNameOfObject(asked.pod))}:${asked.container.name}`,
      };
  }
}

/** Rejects only with the signal's reason. */
export async function ask(question: Question, parts: AskParts, signal: AbortSignal): Promise<ProbeOutcome> {
  let lostMs = 0;
  for (let tries = 1; ; tries += 1) {
    using watch = parts.lag.begin();
    const outcome = await askOnce(question, parts.clock, { watch, lostMs }, signal);
    if (outcome.kind !== "notRun" || tries >= TRIES_MAX) return outcome;
    lostMs = watch.lostMs();
  }
}

interface Lag {
  readonly watch: LagWatch;
  /** Time lost in the previous attempt. */
  readonly lostMs: number;
}

/**
 * Time lost to event-loop lag is not held against the probe. Errors other than `ProbeError` mean the probe did not run.
 */
async function askOnce(
  question: Question,
  clock: Clock,
  { watch, lostMs }: Lag,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  if (question.kind === "refused") return notRun(question.message);
  if (question.kind === "command") return question.run(signal);
  const { limitMs } = question;
  const begunMs = clock.monotonicMs();
  try {
    return await question.put(patienceMs(limitMs, lostMs), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProbeError)) return notRun(errorText(error));
    const waited = { waitedMs: clock.monotonicMs() - begunMs, lostMs: watch.lostMs() };
    return heedingLag(question.failed(error), waited, limitMs);
  }
}

function httpQuestion(
  { action }: Extract<ProbeHandler, { kind: "http" }>,
  { spec, container, ip }: Asked,
  { prober, userAgent }: AskParts,
): Question {
  const made = httpGetOf(action, container, ip, userAgent);
  if (made.kind === "refused") return made;
  return {
    kind: "network",
    limitMs: spec.timeoutSeconds * 1000,
    put: async (limitMs, signal) => {
      const { status, body } = await prober.http(made.get, { limitMs, bodyBytesMax: OUTPUT_BYTES_MAX }, signal);
      return httpOutcome({ status, bodyText: () => textOf(body) });
    },
    failed: httpFailure,
  };
}

function tcpQuestion(
  { action }: Extract<ProbeHandler, { kind: "tcp" }>,
  { spec, container, ip }: Asked,
  { prober }: AskParts,
): Question {
  const found = resolvePort(action.port, container);
  if (found.kind === "refused") return found;
  const target = { host: action.host || ip, port: found.port };
  return {
    kind: "network",
    limitMs: spec.timeoutSeconds * 1000,
    put: async (limitMs, signal) => {
      await prober.tcp(target, limitMs, signal);
      return { kind: "success" };
    },
    failed: (error) => tcpFailure(error, hostAndPort(target.host, target.port)),
  };
}

function grpcQuestion(
  { action }: Extract<ProbeHandler, { kind: "grpc" }>,
  { spec, ip }: Asked,
  { prober, userAgent }: AskParts,
): Question {
  const target = { host: ip, port: action.port };
  const health = { service: action.service ?? "", userAgent };
  return {
    kind: "network",
    limitMs: spec.timeoutSeconds * 1000,
    put: async (limitMs, signal) => grpcOutcome(await prober.grpc(target, health, limitMs, signal)),
    failed: (error) => grpcFailure(error, hostAndPort(target.host, target.port), spec.timeoutSeconds),
  };
}

/** A runtime that exceeds the command's timeout by this much has not run the command: it does not respond at all. */
const RUNTIME_SILENCE_MS = 60_000;

async function runCommand(
  handler: Extract<ProbeHandler, { kind: "exec" }>,
  { spec: { timeoutSeconds }, container, id, life }: Asked,
  { clock, execs }: AskParts,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const command = execCommand(handler.command, container);
  const begunMs = clock.monotonicMs();
  try {
    const { exitCode, stdout, stderr } = await unlessAborted(execs.run({ id, command, timeoutSeconds }, life), signal);
    return execOutcome(exitCode, textOf(Buffer.concat([stdout, stderr]).subarray(0, OUTPUT_BYTES_MAX)));
  } catch (error) {
    signal.throwIfAborted();
    if (!isRuntimeError(error)) return notRun(errorText(error));
    const isSilent = clock.monotonicMs() - begunMs > timeoutSeconds * 1000 + RUNTIME_SILENCE_MS;
    if (error.code === "deadlineExceeded" && !isSilent) return execTimeout(command, timeoutSeconds);
    return notRun(rpcText(error));
  }
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
