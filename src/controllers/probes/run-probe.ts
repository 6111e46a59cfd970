/**
 * Runs one probe of a container and returns the outcome. A probe that could not run because of us is repeated a few
 * times.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import type { LagMeter, LagWatch } from "../../concurrency/lag-meter.ts";
import { OUTPUT_BYTES_MAX } from "../../domain/limits.ts";
import { describePod, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { hostAndPort, resolvePort } from "../../domain/probes/container-port.ts";
import { execCommand } from "../../domain/probes/exec-command.ts";
import { httpGetOf } from "../../domain/probes/http-get.ts";
import {
  discountLag,
  execOutcome,
  execTimeout,
  grpcFailure,
  grpcOutcome,
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
import type { ExecLimiter } from "./exec-limiter.ts";

export interface RunProbeParts {
  readonly clock: Clock;
  readonly prober: Prober;
  readonly execs: ExecLimiter;
  readonly lag: LagMeter;
  readonly userAgent: string;
}

export interface ProbeInputs {
  readonly spec: ProbeSpec;
  readonly container: Container;
  readonly id: string;
  /** The address that the probe connects to. */
  readonly ip: string;
  readonly pod: Pod;
  /** Aborts when the container is not probed at all any more; the `signal` of `runProbe` belongs to this probe only. */
  readonly life: AbortSignal;
}

/**
 * How to probe a container. Built once while pod and address stay the same, because hundreds of probes run per second.
 */
export type ProbeRequest =
  | {
      readonly kind: "network";
      readonly limitMs: number;
      readonly send: (limitMs: number, signal: AbortSignal) => Promise<ProbeOutcome>;
      readonly failed: (error: ProbeError) => ProbeOutcome;
    }
  | { readonly kind: "command"; readonly run: (signal: AbortSignal) => Promise<ProbeOutcome> }
  /** The probe cannot run. */
  | { readonly kind: "refused"; readonly message: string };

export function probeRequestOf(inputs: ProbeInputs, parts: RunProbeParts): ProbeRequest {
  const { handler } = inputs.spec;
  switch (handler.kind) {
    case "exec":
      return { kind: "command", run: (signal) => runCommand(handler, inputs, parts, signal) };
    case "http":
      return httpRequest(handler, inputs, parts);
    case "tcp":
      return tcpRequest(handler, inputs, parts);
    case "grpc":
      return grpcRequest(handler, inputs, parts);
    case "missing":
      return {
        kind: "refused",
        message: `missing probe handler for ${describePod(podNameOfObject(inputs.pod))}:${inputs.container.name}`,
      };
  }
}

/** Rejects only with the signal's reason. */
export async function runProbe(
  request: ProbeRequest,
  parts: RunProbeParts,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  let lostMs = 0;
  for (let tries = 1; ; tries += 1) {
    using watch = parts.lag.begin();
    const outcome = await runOnce(request, parts.clock, { watch, lostMs }, signal);
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
async function runOnce(
  request: ProbeRequest,
  clock: Clock,
  { watch, lostMs }: Lag,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  if (request.kind === "refused") return notRun(request.message);
  if (request.kind === "command") return request.run(signal);
  const { limitMs } = request;
  const begunMs = clock.monotonicMs();
  try {
    return await request.send(patienceMs(limitMs, lostMs), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProbeError)) return notRun(errorText(error));
    const waited = { waitedMs: clock.monotonicMs() - begunMs, lostMs: watch.lostMs() };
    return discountLag(request.failed(error), waited, limitMs);
  }
}

function httpRequest(
  { action }: Extract<ProbeHandler, { kind: "http" }>,
  { spec, container, ip }: ProbeInputs,
  { prober, userAgent }: RunProbeParts,
): ProbeRequest {
  const made = httpGetOf(action, container, ip, userAgent);
  if (made.kind === "refused") return made;
  return {
    kind: "network",
    limitMs: spec.timeoutSeconds * 1000,
    send: async (limitMs, signal) => {
      const { status, body } = await prober.http(made.get, { limitMs, bodyBytesMax: OUTPUT_BYTES_MAX }, signal);
      return httpOutcome({ status, bodyText: () => textOf(body) });
    },
    failed: httpFailure,
  };
}

function tcpRequest(
  { action }: Extract<ProbeHandler, { kind: "tcp" }>,
  { spec, container, ip }: ProbeInputs,
  { prober }: RunProbeParts,
): ProbeRequest {
  const resolved = resolvePort(action.port, container);
  if (resolved.kind === "refused") return resolved;
  const target = { host: action.host || ip, port: resolved.port };
  return {
    kind: "network",
    limitMs: spec.timeoutSeconds * 1000,
    send: async (limitMs, signal) => {
      await prober.tcp(target, limitMs, signal);
      return { kind: "success" };
    },
    failed: (error) => tcpFailure(error, hostAndPort(target.host, target.port)),
  };
}

function grpcRequest(
  { action }: Extract<ProbeHandler, { kind: "grpc" }>,
  { spec, ip }: ProbeInputs,
  { prober, userAgent }: RunProbeParts,
): ProbeRequest {
  const target = { host: ip, port: action.port };
  const health = { service: action.service ?? "", userAgent };
  return {
    kind: "network",
    limitMs: spec.timeoutSeconds * 1000,
    send: async (limitMs, signal) => grpcOutcome(await prober.grpc(target, health, limitMs, signal)),
    failed: (error) => grpcFailure(error, hostAndPort(target.host, target.port), spec.timeoutSeconds),
  };
}

/** A runtime that exceeds the command's timeout by this much has not run the command: it does not respond at all. */
const RUNTIME_SILENCE_MS = 60_000;

async function runCommand(
  handler: Extract<ProbeHandler, { kind: "exec" }>,
  { spec: { timeoutSeconds }, container, id, life }: ProbeInputs,
  { clock, execs }: RunProbeParts,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const command = execCommand(handler.command, container);
  const begunMs = clock.monotonicMs();
  try {
    const { exitCode, stdout, stderr } = await raceAbort(execs.run({ id, command, timeoutSeconds }, life), signal);
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
