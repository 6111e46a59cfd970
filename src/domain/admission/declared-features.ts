/** Abilities of a node that a pod needs, or that a change of it needs, by the names that nodes declare them with. */
import type { Pod, PodSpec } from "../../api/gen/core-v1.ts";
import { jsonEqual } from "../../base/json-equal.ts";
import { everyContainer, isSidecar } from "../pod/every-container.ts";
import type { Rejection } from "./verdict.ts";

type Need = readonly [feature: string, needs: (spec: PodSpec) => boolean];
type ChangeNeed = readonly [feature: string, needs: (before: PodSpec, after: PodSpec) => boolean];

/** In the order of their names, in which they are told. */
const OF_PODS: readonly Need[] = [
  [
    "RestartAllContainersOnContainerExits",
    (spec) =>
      everyContainer({ ...spec, ephemeralContainers: [] }).some(({ restartPolicyRules }) =>
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

/** What to tell of a change that this node cannot follow; undefined: it can. */
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
