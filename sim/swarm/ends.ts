/** How a run of the swarm must stand when everything was right again for long enough: what is not so, each in a sentence. */
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { isRunning, nothingIsLeft, shows } from "../scenarios/ends.ts";
import type { Stage } from "../scenarios/scenario.ts";
import type { FaultSet } from "./faults.ts";
import type { Made } from "./user.ts";
import type { Workload } from "./workload.ts";

export function wrongInTheEnd(
  stage: Stage,
  workload: Workload,
  made: readonly Made[],
  faults: FaultSet,
): readonly string[] {
  return [...made.flatMap((each) => wrongOf(stage, workload, each, faults)), ...nothingIsLeft(stage)];
}

function wrongOf(stage: Stage, workload: Workload, { plan, uid }: Made, faults: FaultSet): readonly string[] {
  const name = plan.pod.metadata?.name ?? "";
  const pod = stage.pod(name);
  if (plan.fate.kind !== "stays") {
    return pod?.metadata?.uid === uid ? [`${name} was taken away and is still there, ${pod.status?.phase}`] : [];
  }
  if (pod?.metadata?.uid !== uid) return [`${name} is gone, and nobody took it away`];
  const phase = pod.status?.phase;
  switch (plan.end) {
    case "waits":
      return phase === "Pending" ? [] : [`${name} lacks something and is ${phase}`];
    case "crashes":
      return phase === "Running" ? [] : [`${name} crashes now and then and is ${phase}`];
    case "ends":
      return wrongEnd(pod, faults);
    default:
      return [...isRunning(name)(stage), ...staleFiles(stage, pod, workload)];
  }
}

/** Where the runtime or the machine died beside it, nobody may know how it ended; then it is not said to have succeeded. */
function wrongEnd(pod: Pod, { timed }: FaultSet): readonly string[] {
  const phase = pod.status?.phase;
  const mayFail = pod.spec?.restartPolicy === "Never" && (timed.has("machineCrash") || timed.has("runtimeKill"));
  return phase === "Succeeded" || (mayFail && phase === "Failed")
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
