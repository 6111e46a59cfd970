/** The patch that brings the Node on the API server from one state to another. */
import type { Node } from "../../api/gen/core-v1.ts";
import type { JsonObject } from "../../base/json-equal.ts";
import { type MergeFields, strategicMergePatch } from "../../base/strategic-merge.ts";

/** As the API server merges them. Two addresses may have the same merge key, so the list is replaced. */
const NODE_FIELDS: MergeFields = {
  status: {
    kind: "object",
    fields: {
      conditions: { kind: "listByKey", key: "type" },
      addresses: { kind: "listReplaced" },
    },
  },
};

/** Covers what the agent may write: labels, annotations and the status. Undefined when nothing differs. */
export function nodePatch(known: Node, target: Node): JsonObject | undefined {
  return strategicMergePatch(writable(known), writable(target), NODE_FIELDS);
}

function writable({ metadata, status }: Node): JsonObject {
  const { labels = {}, annotations = {} } = metadata ?? {};
  return { metadata: { labels, annotations }, status: { ...status } };
}
