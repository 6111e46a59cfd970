/** Computes the patch from a pod's published status to the wanted one. */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import type { JsonObject } from "../../base/json-equal.ts";
import { type MergeFields, strategicMergePatch } from "../../base/strategic-merge.ts";

/** Merge rules of a pod's status, as in the API server. The lists of containers are replaced as a whole. */
export const STATUS_FIELDS: MergeFields = {
  conditions: { kind: "listByKey", key: "type" },
  podIPs: { kind: "listByKey", key: "ip" },
  hostIPs: { kind: "listReplaced" },
};

/** Undefined if nothing changed. The patch is bound to the UID: a pod of the same name may be another pod. */
export function statusPatch(published: Pod, wanted: PodStatus): JsonObject | undefined {
  const current: JsonObject = { ...published.status };
  const status = strategicMergePatch(current, { ...wanted }, STATUS_FIELDS);
  return status === undefined ? undefined : { metadata: { uid: published.metadata?.uid }, status };
}

const MINOR_FIELDS = new Set(["observedGeneration", "podIP", "podIPs", "hostIP", "hostIPs", "conditions"]);
const MINOR_CONDITION = "PodReadyToStartContainers";

/**
 * Whether a patch reports only a step on the way: that the sandbox is ready, or that a change of the object was
 * observed. Fields that people and controllers act on (phase, readiness, containers) are never minor. Losing the
 * sandbox is not minor either.
 */
export function isMinor({ status }: JsonObject): boolean {
  const fields = status as PodStatus;
  if (Object.keys(fields).some((name) => !MINOR_FIELDS.has(name))) return false;
  return (fields.conditions ?? []).every((condition) => {
    const { type, observedGeneration: _, ...reported } = condition;
    return Object.keys(reported).length === 0 || (type === MINOR_CONDITION && reported.status !== "False");
  });
}
