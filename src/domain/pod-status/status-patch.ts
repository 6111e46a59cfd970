/** The patch that brings a pod's published status to the wanted one. */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import type { JsonObject } from "../../base/json-equal.ts";
import { type MergeFields, strategicMergePatch } from "../../base/strategic-merge.ts";

/** As the API server merges a pod's status. The lists of containers are replaced whole. */
export const STATUS_FIELDS: MergeFields = {
  conditions: { kind: "listByKey", key: "type" },
  podIPs: { kind: "listByKey", key: "ip" },
  hostIPs: { kind: "listReplaced" },
};

/** Undefined when there is nothing to say. Bound to the UID: a pod of the same name is another pod. */
export function statusPatch(published: Pod, wanted: PodStatus): JsonObject | undefined {
  const current: JsonObject = { ...published.status };
  const status = strategicMergePatch(current, { ...wanted }, STATUS_FIELDS);
  return status === undefined ? undefined : { metadata: { uid: published.metadata?.uid }, status };
}

const MINOR_FIELDS = new Set(["observedGeneration", "podIP", "podIPs", "hostIP", "hostIPs", "conditions"]);
const MINOR_CONDITION = "PodReadyToStartContainers";

/**
 * Whether a patch tells only what a pod passes through on its way: that its sandbox is there, or that a change of its object was seen.
 * What people and controllers act upon (phase, readiness, containers) is never minor, nor is a sandbox that went.
 */
export function isMinor({ status }: JsonObject): boolean {
  const fields = status as PodStatus;
  if (Object.keys(fields).some((name) => !MINOR_FIELDS.has(name))) return false;
  return (fields.conditions ?? []).every((condition) => {
    const { type, observedGeneration: _, ...told } = condition;
    return Object.keys(told).length === 0 || (type === MINOR_CONDITION && told.status !== "False");
  });
}
