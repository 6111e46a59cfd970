/** Node features that a pod, or an update of a pod, requires, by the names with which nodes declare them. */
import type { Pod, PodSpec } from "../../api/gen/core-v1.ts";
import { jsonEqual } from "../../base/json-equal.ts";
import { allContainers, isSidecar } from "../pod/containers.ts";
import type { Rejection } from "./verdict.ts";

type Need = readonly [feature: string, needs: (spec: PodSpec) => boolean];
type ChangeNeed = readonly [feature: string, needs: (before: PodSpec, after: PodSpec) => boolean];

/** Sorted by name, the order in which the message lists them. */
const OF_PODS: readonly Need[] = [
  [
    "RestartAllContainersOnContainerExits",
    (spec) =>
      allContainers({ ...spec, ephemeralContainers: [] }).some(({ restartPolicyRules }) =>
        (restartPolicyRules ?? []).some(({ action }) => action === "RestartAllContainers"),
      ),
  ],
  ["UserNamespacesHostNetworkSupport", ({ hostNetwork, hostUsers }) => hostNetwork === true && hostUsers === false],
];

const OF_CHANGES: readonly ChangeNeed[] = [
  [
    "InPlacePodLevelResourcesVerticalScaling",
    (before, after) => !jsonEqual(before.resources ?? {}, after.resources ?? {}),
  ],
  [
    "InPlacePodVerticalScalingInitContainers",
    (before, after) =>
      (before.initContainers ?? []).some(
        (container, index) =>
          !isSidecar(container) &&
          !jsonEqual(container.resources ?? {}, after.initContainers?.[index]?.resources ?? {}),
      ),
  ],
];

export function undeclaredFeatures({ spec }: Pod, declared: readonly string[] | undefined): Rejection | undefined {
  if (declared === undefined || spec === undefined) return undefined;
  const missing = missingOf(
    OF_PODS.filter(([, needs]) => needs(spec)),
    declared,
  );
  return missing === undefined ? undefined : { reason: "PodFeatureUnsupported", message: missing };
}

/** Returns the message for an update that this node cannot follow; undefined: this node can follow it. */
export function undeclaredByChange(
  before: Pod,
  after: Pod,
  declared: readonly string[] | undefined,
): string | undefined {
  const [old, now] = [before.spec, after.spec];
  if (declared === undefined || old === undefined || now === undefined || old === now) return undefined;
  return missingOf(
    OF_CHANGES.filter(([, needs]) => needs(old, now)),
    declared,
  );
}

function missingOf(
  needed: readonly (readonly [string, ...unknown[]])[],
  declared: readonly string[],
): string | undefined {
  const missing = needed.map(([name]) => name).filter((name) => !declared.includes(name));
  return missing.length === 0 ? undefined : `Pod requires node features that are not available: ${missing.join(", ")}`;
}
