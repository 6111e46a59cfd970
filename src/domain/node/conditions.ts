/**
 * The conditions of a node: three for pressure, and Ready as the last. Conditions that others set (a cloud's network, a
 * problem detector) stay unchanged and in place.
 */
import type { NodeCondition } from "../../api/gen/core-v1.ts";
import { aggregate } from "../../base/go-text.ts";
import { apiTime } from "../../base/timestamp.ts";

/** The resources that the machine is short of. */
export interface Pressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

export interface ConditionInputs {
  readonly pressure: Pressure;
  /** Why the node is not ready, in the order of the condition's message; empty when it is ready. */
  readonly notReady: readonly string[];
  readonly nowWallMs: number;
}

export interface ConditionResult {
  readonly conditions: readonly NodeCondition[];
  /** The reasons of the events that report the changes. */
  readonly changes: readonly string[];
}

interface Wanted {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  readonly event: string;
}

export function nodeConditions(existing: readonly NodeCondition[], inputs: ConditionInputs): ConditionResult {
  const now = apiTime(inputs.nowWallMs);
  const conditions = [...existing];
  const changes: string[] = [];
  for (const { event, ...wanted } of wantedConditions(inputs)) {
    const index = conditions.findIndex(({ type }) => type === wanted.type);
    const old = conditions[index];
    const changed = old?.status !== wanted.status;
    if (changed) changes.push(event);
    const lastTransitionTime = changed ? now : (old?.lastTransitionTime ?? now);
    const condition = { ...wanted, lastHeartbeatTime: now, lastTransitionTime };
    if (old === undefined) conditions.push(condition);
    else conditions[index] = condition;
  }
  return { conditions, changes };
}

/** Of a node, or of a pod. */
export const isReady = (conditions: readonly Pick<NodeCondition, "type" | "status">[] | undefined): boolean =>
  conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;

function wantedConditions({ pressure, notReady }: ConditionInputs): readonly Wanted[] {
  return [
    pressure.memory
      ? met("MemoryPressure", "HasInsufficientMemory", "kubelet has insufficient memory available")
      : clear("MemoryPressure", "HasSufficientMemory", "kubelet has sufficient memory available"),
    pressure.disk
      ? met("DiskPressure", "HasDiskPressure", "kubelet has disk pressure")
      : clear("DiskPressure", "HasNoDiskPressure", "kubelet has no disk pressure"),
    pressure.pid
      ? met("PIDPressure", "HasInsufficientPID", "kubelet has insufficient PID available")
      : clear("PIDPressure", "HasSufficientPID", "kubelet has sufficient PID available"),
    notReady.length === 0
      ? met("Ready", "Ready", "kubelet is posting ready status")
      : clear("Ready", "NotReady", aggregate(notReady)),
  ];
}

const met = (type: string, name: string, message: string) => wanted(type, "True", name, message);
const clear = (type: string, name: string, message: string) => wanted(type, "False", name, message);
const wanted = (type: string, status: "True" | "False", name: string, message: string): Wanted => ({
  type,
  status,
  reason: `Kubelet${name}`,
  message,
  event: `Node${name}`,
});
