/**
 * Checks the state of a swarm run after everything has worked again for long enough. Returns one sentence per problem.
 */
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { podRequests, specOf } from "../../src/domain/resources/pod-resources.ts";
import { isRunning, nothingIsLeft, shows } from "../scenarios/ends.ts";
import { wrongResizes } from "../scenarios/resize-ends.ts";
import type { Stage } from "../scenarios/scenario.ts";
import type { FaultSet } from "./faults.ts";
import { WHOLE_PODS_STAY } from "./resizes.ts";
import type { Made } from "./user.ts";
import type { Workload } from "./workload.ts";

export function wrongInTheEnd(
  stage: Stage,
  workload: Workload,
  made: readonly Made[],
  faults: FaultSet,
): readonly string[] {
  return [
    ...made.flatMap((each) => wrongOf(stage, workload, each, faults)),
    ...nothingIsLeft(stage),
    // With a damaged journal, the agent assumes that allocations it no longer knows match the spec.
    ...(faults.damagesJournal ? [] : wrongResizes(stage, workload.flags.includes(WHOLE_PODS_STAY))),
  ];
}

/** Reasons for which a pod with resource requests may end in favor of others, or may not fit. */
const FOR_OTHERS = ["OutOfcpu", "OutOfmemory", "Preempting"];
const CRITICAL = 2_000_000_000;

function wrongOf(stage: Stage, workload: Workload, { plan, uid }: Made, faults: FaultSet): readonly string[] {
  const name = plan.pod.metadata?.name ?? "";
  const pod = stage.pod(name);
  if (plan.fate.kind !== "stays") {
    return pod?.metadata?.uid === uid ? [`${name} was deleted and still exists, ${pod.status?.phase}`] : [];
  }
  if (pod?.metadata?.uid !== uid) return [`${name} is gone although no user deleted it`];
  const { phase, reason = "" } = pod.status ?? {};
  const isCritical = (plan.pod.spec?.priority ?? 0) >= CRITICAL;
  if (phase === "Failed" && FOR_OTHERS.includes(reason) && !isCritical && asksForRoom(plan.pod)) return [];
  // Whether the pod had to be evicted is judged when it happens.
  if (phase === "Failed" && reason === "Evicted" && !isCritical && workload.pressure !== undefined) return [];
  switch (plan.end) {
    case "waits":
      // An init container may be killed, and then is not run again.
      return phase === "Pending" || (phase === "Failed" && mayBeKilled(pod, faults))
        ? []
        : [`${name} lacks something and is ${phase}`];
    case "yields":
      return phase === "Pending" ? [`${name} may yield to others and is ${phase}`] : [];
    case "crashes":
      // Under Never no container is run again in another sandbox, whatever its own restart rules say.
      return phase === "Running" || mayBeKilled(pod, faults) ? [] : [`${name} crashes now and then and is ${phase}`];
    case "ends":
      return wrongEnd(pod, faults);
    default:
      return [...isRunning(name)(stage), ...staleFiles(stage, pod, workload)];
  }
}

const asksForRoom = (pod: Pod): boolean => podRequests(specOf(pod), { overhead: false }).size > 0;

/**
 * If the runtime, the machine or a process died, nobody may know how the pod ended. Then the pod is not reported as
 * Succeeded.
 */
const mayBeKilled = ({ spec }: Pod, { timed }: FaultSet): boolean =>
  spec?.restartPolicy === "Never" &&
  (timed.has("machineCrash") || timed.has("runtimeKill") || timed.has("processKill"));

function wrongEnd(pod: Pod, faults: FaultSet): readonly string[] {
  const phase = pod.status?.phase;
  return phase === "Succeeded" || (mayBeKilled(pod, faults) && phase === "Failed")
    ? []
    : [`${pod.metadata?.name} ends by itself and is ${phase}`];
}

function staleFiles(stage: Stage, pod: Pod, { objects }: Workload): readonly string[] {
  const newest = new Map(objects.map(({ kind, name, changes }) => [`${kind}/${name}`, changes.length]));
  const used = new Set(pod.spec?.containers.flatMap(({ volumeMounts }) => volumeMounts?.map(({ name }) => name) ?? []));
  return (pod.spec?.volumes ?? []).flatMap(({ name, configMap, secret }) => {
    const kind = configMap === undefined ? "Secret" : "ConfigMap";
    const object = configMap?.name ?? secret?.secretName ?? "";
    const version = newest.get(`${kind}/${object}`);
    if (version === undefined || !used.has(name)) return [];
    return shows(pod.metadata?.name ?? "", name, kind, object, version)(stage);
  });
}
