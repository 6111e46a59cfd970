/** The numbers of pods and containers, computed from the state of the loops at each request. */

import type { Reading } from "../../base/metrics/registry.ts";
import type { AdmittedPod } from "../pod/admitted-pod.ts";
import type { DesiredPods } from "../pod/desired-pod.ts";
import { CONFIG_SOURCE, isStaticPod } from "../pod/pod-identity.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import { hasEnded } from "../pod/pod-lifecycle.ts";
import type { PodOutcome } from "../pod/pod-outcome.ts";
import type { PodRuntimeView } from "../pod/runtime-view.ts";

type ByUid<T> = (uid: string) => T | undefined;

const isStaticLabel = (isStatic: boolean): string => (isStatic ? "true" : "");

function byStatic(pods: Iterable<{ readonly isStatic: boolean }>): readonly Reading<readonly ["static"]>[] {
  const all = [...pods];
  const statics = all.filter(({ isStatic }) => isStatic).length;
  return [
    [all.length - statics, ""],
    [statics, "true"],
  ];
}

export const desiredPodCounts = ({ pods }: DesiredPods) =>
  byStatic([...pods.values()].map(({ pod }) => ({ isStatic: isStaticPod(pod) })));

/** Pods that may have running containers, and so count when another pod is admitted. */
export const activePodCounts = (admitted: readonly AdmittedPod[], outcome: ByUid<PodOutcome>) =>
  byStatic(
    admitted.filter(({ uid, verdict }) => {
      const lifecycle = outcome(uid)?.lifecycle;
      return verdict.kind === "admitted" && (lifecycle === undefined || !hasEnded(lifecycle));
    }),
  );

const STAGES: Readonly<Record<PodLifecycle["kind"], string>> = {
  running: "sync",
  terminating: "terminating",
  terminated: "terminated",
  finished: "terminated",
};

const WORKING: readonly (readonly [lifecycle: string, config: string, isStatic: string])[] = [
  ...["desired", "orphan"].flatMap((config) =>
    ["", "true"].flatMap((isStatic) => Object.values(STAGES).map((stage) => [stage, config, isStatic] as const)),
  ),
  ...Object.values(STAGES).map((stage) => [stage, "runtime_only", "unknown"] as const),
];

/** Includes every possible combination, so that a graph shows zero instead of a gap. */
export function workingPodCounts(
  outcomes: readonly PodOutcome[],
  admitted: ByUid<AdmittedPod>,
): readonly Reading<readonly ["lifecycle", "config", "static"]>[] {
  const counts = new Map(WORKING.map((labels) => [labels.join(), 0]));
  for (const outcome of outcomes) {
    const pod = admitted(outcome.uid);
    if (pod?.verdict.kind === "rejected") continue;
    const key = [STAGES[outcome.lifecycle.kind], ...placeOf(outcome, pod)].join();
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => {
    const [lifecycle = "", config = "", isStatic = ""] = key.split(",");
    return [count, lifecycle, config, isStatic];
  });
}

function placeOf({ lifecycle, view }: PodOutcome, pod: AdmittedPod | undefined): readonly [string, string] {
  if (pod !== undefined) return ["desired", isStaticLabel(pod.isStatic)];
  if (lifecycle.kind !== "running" && lifecycle.why.kind === "orphaned") return ["runtime_only", "unknown"];
  const source = view.sandboxes[0]?.annotations[CONFIG_SOURCE];
  return ["orphan", isStaticLabel(source !== undefined && source !== "api")];
}

export const runningPodCount = (views: readonly PodRuntimeView[]): number =>
  views.filter(({ sandboxes }) => sandboxes.some(({ state }) => state === "ready")).length;

export function containerCounts(views: readonly PodRuntimeView[]): readonly Reading<readonly ["container_state"]>[] {
  const states = views.flatMap(({ containers }) => containers.map(({ state }) => state));
  return (["created", "running", "exited", "unknown"] as const).map((state) => [
    states.filter((each) => each === state).length,
    state,
  ]);
}

export const ephemeralContainerCount = ({ pods }: DesiredPods): number =>
  [...pods.values()].reduce((sum, { pod }) => sum + (pod.spec?.ephemeralContainers?.length ?? 0), 0);
