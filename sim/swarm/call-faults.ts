/**
 * Faults of single calls, drawn call by call: errors before the effect, replies that are lost after it, and the agent's
 * death there.
 */
import { ApiError } from "../../src/ports/api-error.ts";
import { HostFileError, type HostFileErrorCode } from "../../src/ports/host-files.ts";
import { MountError, type MountErrorCode } from "../../src/ports/mounts.ts";
import { ProbeError } from "../../src/ports/prober.ts";
import { RuntimeError, type RuntimeErrorCode } from "../../src/ports/runtime-error.ts";
import type { Fault, PortCall } from "../port-calls.ts";
import { phaseOf } from "./coverage.ts";
import type { Draw } from "./draw.ts";

export const CALL_FAULTS = [
  "deaths",
  "runtimeErrors",
  "apiErrors",
  "mountErrors",
  "fileErrors",
  "pullErrors",
  "probeErrors",
] as const;
/** Drawn apart from the others, whose draws they do not change. */
export const PRESSURE_CALL_FAULTS = ["statsErrors", "imageErrors"] as const;
export type CallFault = (typeof CALL_FAULTS)[number] | (typeof PRESSURE_CALL_FAULTS)[number];

const RUNTIME_CODES: readonly RuntimeErrorCode[] = [
  "unavailable",
  "deadlineExceeded",
  "unknown",
  "resourceExhausted",
  "internal",
];
const API_STATUSES: readonly (readonly [status: number, reason: string, retryAfterMs?: number])[] = [
  [500, "InternalError"],
  [503, "ServiceUnavailable"],
  [504, "Timeout"],
  [429, "TooManyRequests", 2_000],
  [409, "Conflict"],
];
const MOUNT_CODES: readonly MountErrorCode[] = ["unresponsive", "busy", "other"];
const FILE_CODES: readonly HostFileErrorCode[] = ["other", "noSpace", "readOnly"];
/** Reads fail only with the code `other`: they neither need space nor write to the disk. */
const FILE_READS: ReadonlySet<string> = new Set(["facts", "list", "read", "readHead", "readTail", "readLink"]);

const UPDATES: ReadonlySet<string> = new Set(["UpdateContainerResources", "UpdatePodSandboxResources"]);

/** More frequent for calls on volumes and on pod resources, which are the purpose of the swarm. */
function deathProbability(call: PortCall): number {
  if (UPDATES.has(call.name)) return 0.02;
  return phaseOf(call) === undefined ? 0.0004 : 0.006;
}

/**
 * Returns undefined if nothing goes wrong with the call. `weight` scales how often the seed draws this kind of fault.
 */
export function drawCallFault(kind: CallFault, weight: number, call: PortCall, draw: Draw): Fault | undefined {
  switch (kind) {
    case "deaths":
      return draw.chance(deathProbability(call) * weight) ? { kind: "crash", effect: effectOf(draw) } : undefined;
    case "runtimeErrors":
      if (call.port !== "runtime" || call.name === "PullImage" || !draw.chance(0.01 * weight)) return undefined;
      return failing(draw, new RuntimeError(call.name, draw.pick(RUNTIME_CODES), "drawn by the swarm"));
    case "pullErrors":
      if (call.name !== "PullImage" || !draw.chance(0.3 * weight)) return undefined;
      return failing(
        draw,
        new RuntimeError(call.name, draw.pick(["unknown", "unavailable"]), "connection reset by peer"),
      );
    case "probeErrors":
      // The fault is the kubelet's own, so it must not count against the container.
      if (call.port !== "prober" || !draw.chance(0.1 * weight)) return undefined;
      return { kind: "fail", effect: "none", error: new ProbeError("connect", "ours", "drawn by the swarm") };
    case "apiErrors":
      return call.port === "api" && draw.chance(0.02 * weight) ? apiFault(call, draw) : undefined;
    case "mountErrors":
      return call.port === "mounts" && draw.chance(0.08 * weight) ? mountFault(call, draw) : undefined;
    case "statsErrors":
      return drawStatsFault(call, weight, draw);
    case "imageErrors":
      if ((call.name !== "ImageFsInfo" && call.name !== "RemoveImage") || !draw.chance(0.15 * weight)) return undefined;
      if (draw.chance(0.4)) return { kind: "hang", effect: effectOf(draw) };
      return failing(draw, new RuntimeError(call.name, draw.pick(RUNTIME_CODES), "drawn by the swarm"));
    default:
      return call.port === "files" && draw.chance(0.004 * weight) ? fileFault(call, draw) : undefined;
  }
}

/** A read of the machine itself fails at once or answers; one of the statistics may also hang. */
function drawStatsFault({ port, name }: PortCall, weight: number, draw: Draw): Fault | undefined {
  const error = new Error(`${port}.${name}: drawn by the swarm`);
  if (MEASUREMENTS.has(name) && port === "machine")
    return draw.chance(0.02 * weight) ? { kind: "fail", effect: "none", error } : undefined;
  if ((port !== "stats" || name !== "read") && name !== "ListContainerStats") return undefined;
  if (!draw.chance(0.1 * weight)) return undefined;
  if (draw.chance(0.4)) return { kind: "hang", effect: "none" };
  return name === "read"
    ? { kind: "fail", effect: "none", error }
    : failing(draw, new RuntimeError(name, "unknown", ""));
}

const MEASUREMENTS: ReadonlySet<string> = new Set(["memoryWorkingSetBytes", "processCount", "filesystem"]);

const effectOf = (draw: Draw) => draw.pick(["none", "done"] as const);
const failing = (draw: Draw, error: unknown): Fault => ({ kind: "fail", effect: effectOf(draw), error });

/** A negative response has changed nothing; a request without a response may have. */
function apiFault({ name, target }: PortCall, draw: Draw): Fault {
  if (draw.chance(0.4)) return { kind: "fail", effect: effectOf(draw) };
  const [status, reason, retryAfterMs] = draw.pick(API_STATUSES);
  const error = new ApiError(`${name} ${target}`, status, reason, "drawn by the swarm", retryAfterMs);
  return { kind: "fail", effect: "none", error };
}

function mountFault({ name, target }: PortCall, draw: Draw): Fault {
  const read = name === "table" || name === "kindOf" || name === "formatOf";
  const code = read ? draw.pick(["unresponsive", "other"] as const) : draw.pick(MOUNT_CODES);
  // A call that returns "busy" has done nothing.
  const effect = code === "busy" ? "none" : effectOf(draw);
  return { kind: "fail", effect, error: new MountError(name, target, code, "drawn by the swarm") };
}

function fileFault({ name, target }: PortCall, draw: Draw): Fault {
  const code = FILE_READS.has(name) ? "other" : draw.pick(FILE_CODES);
  const effect = code === "other" ? effectOf(draw) : "none";
  return { kind: "fail", effect, error: new HostFileError(name, target, code, "drawn by the swarm") };
}
