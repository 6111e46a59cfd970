/** Puts one question to a container and says what came of it. A question that could not be put because of us is put again, a few times. */
import type { Container } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import type { LagMeter, LagWatch } from "../../concurrency/lag-meter.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import { hostAndPort, resolvePort } from "../../domain/probes/container-port.ts";
import { execCommand } from "../../domain/probes/exec-command.ts";
import { httpGetOf } from "../../domain/probes/http-get.ts";
import {
  BODY_BYTES_MAX,
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
  /** Where the pod is reached. */
  readonly ip: string;
  /** As messages spell the pod. */
  readonly described: string;
  /** Until the container is no longer asked at all; the signal is this probe's own. */
  readonly life: AbortSignal;
}

/** Rejects with the signal's reason only. */
export async function ask(asked: Asked, parts: AskParts, signal: AbortSignal): Promise<ProbeOutcome> {
  let lostMs = 0;
  for (let tries = 1; ; tries += 1) {
    using watch = parts.lag.begin();
    const outcome = await askOnce(asked, parts, { watch, lostMs }, signal);
    if (outcome.kind !== "notRun" || tries >= TRIES_MAX) return outcome;
    lostMs = watch.lostMs();
  }
}

interface Lag {
  readonly watch: LagWatch;
  /** When it was asked before. */
  readonly lostMs: number;
}

async function askOnce(asked: Asked, parts: AskParts, lag: Lag, signal: AbortSignal): Promise<ProbeOutcome> {
  const { handler } = asked.spec;
  switch (handler.kind) {
    case "exec":
      return runCommand(handler, asked, parts, signal);
    case "http":
    case "tcp":
    case "grpc":
      return overNetwork(asked, parts, lag, (givenMs) => question(handler, asked, parts, givenMs, signal));
    case "missing":
      return notRun(`missing probe handler for ${asked.described}:${asked.container.name}`);
  }
}

/** What we ourselves lose meanwhile is not the application's. */
async function overNetwork(
  { spec }: Asked,
  { clock }: AskParts,
  { watch, lostMs }: Lag,
  put: (givenMs: number) => Promise<ProbeOutcome>,
): Promise<ProbeOutcome> {
  const limitMs = spec.timeoutSeconds * 1000;
  const begunMs = clock.monotonicMs();
  const outcome = await put(patienceMs(limitMs, lostMs));
  return heedingLag(outcome, { waitedMs: clock.monotonicMs() - begunMs, lostMs: watch.lostMs() }, limitMs);
}

type NetworkHandler = Extract<ProbeHandler, { kind: "http" | "tcp" | "grpc" }>;

function question(
  handler: NetworkHandler,
  asked: Asked,
  parts: AskParts,
  limitMs: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  switch (handler.kind) {
    case "http":
      return askHttp(handler, asked, parts, limitMs, signal);
    case "tcp":
      return askTcp(handler, asked, parts, limitMs, signal);
    case "grpc":
      return askGrpc(handler, asked, parts, limitMs, signal);
  }
}

async function askHttp(
  { action }: Extract<NetworkHandler, { kind: "http" }>,
  { container, ip }: Asked,
  { prober, userAgent }: AskParts,
  limitMs: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const made = httpGetOf(action, container, ip, userAgent);
  if (made.kind === "refused") return notRun(made.message);
  return settled(
    async () => {
      const { status, body } = await prober.http(made.get, { limitMs, bodyBytesMax: BODY_BYTES_MAX }, signal);
      return httpOutcome({ status, bodyText: () => textOf(body) });
    },
    httpFailure,
    signal,
  );
}

async function askTcp(
  { action }: Extract<NetworkHandler, { kind: "tcp" }>,
  { container, ip }: Asked,
  { prober }: AskParts,
  limitMs: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const found = resolvePort(action.port, container);
  if (found.kind === "refused") return notRun(found.message);
  const target = { host: action.host || ip, port: found.port };
  return settled(
    async () => {
      await prober.tcp(target, limitMs, signal);
      return { kind: "success" };
    },
    (error) => tcpFailure(error, hostAndPort(target.host, target.port)),
    signal,
  );
}

async function askGrpc(
  { action }: Extract<NetworkHandler, { kind: "grpc" }>,
  { spec, ip }: Asked,
  { prober, userAgent }: AskParts,
  limitMs: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const target = { host: ip, port: action.port };
  return settled(
    async () => grpcOutcome(await prober.grpc(target, { service: action.service ?? "", userAgent }, limitMs, signal)),
    (error) => grpcFailure(error, hostAndPort(target.host, target.port), spec.timeoutSeconds),
    signal,
  );
}

/** What the port does not say of itself is a trouble of ours. */
async function settled(
  put: () => Promise<ProbeOutcome>,
  failed: (error: ProbeError) => ProbeOutcome,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  try {
    return await put();
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof ProbeError ? failed(error) : notRun(errorText(error));
  }
}

/** A runtime that needs so much longer than the command may take has not run it: it gives no answer at all. */
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
    return execOutcome(exitCode, textOf(Buffer.concat([stdout, stderr]).subarray(0, BODY_BYTES_MAX)));
  } catch (error) {
    signal.throwIfAborted();
    if (!isRuntimeError(error)) return notRun(errorText(error));
    const isSilent = clock.monotonicMs() - begunMs > timeoutSeconds * 1000 + RUNTIME_SILENCE_MS;
    if (error.code === "deadlineExceeded" && !isSilent) return execTimeout(command, timeoutSeconds);
    return notRun(rpcText(error));
  }
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
