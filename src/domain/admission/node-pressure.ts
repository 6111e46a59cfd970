/**
 * Under pressure a node admits only critical pods. Under memory pressure alone it also admits pods that are not
 * BestEffort or that tolerate the memory-pressure taint.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { Pressure } from "../node/conditions.ts";
import { isCriticalPod } from "../pod/pod-identity.ts";
import { podQosClass } from "../resources/qos-class.ts";
import { tolerates } from "./node-selection.ts";
import type { Rejection } from "./verdict.ts";

const CONDITIONS = [
  ["MemoryPressure", "memory"],
  ["DiskPressure", "disk"],
  ["PIDPressure", "pid"],
] as const satisfies readonly (readonly [string, keyof Pressure])[];

const MEMORY_TAINT = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" } as const;

export function underPressure(pod: Pod, pressure: Pressure, withComparisons: boolean): Rejection | undefined {
  const conditions = CONDITIONS.filter(([, kind]) => pressure[kind]).map(([name]) => name);
  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
  const ofMemoryOnly = pressure.memory && conditions.length === 1;
  if (ofMemoryOnly && podQosClass(pod) !== "BestEffort") return undefined;
  const tolerations = pod.spec?.tolerations ?? [];
  if (ofMemoryOnly && tolerations.some((one) => tolerates(one, MEMORY_TAINT, withComparisons))) return undefined;
  return { reason: "Evicted", message: `The node had condition: [${conditions.join(" ")}]. ` };
}
