/** What is known of our Node: the values of the cells that the node's loops share with other loops. */
import type { Node, NodeCondition } from "../../api/gen/core-v1.ts";

/** As the API server has it: the cell `ownNode`. */
export type OwnNode =
  /** The API server has not answered yet. */
  { readonly kind: "unknown" } | { readonly kind: "absent" } | { readonly kind: "present"; readonly node: Node };

export const isPresent = (own: OwnNode): own is OwnNode & { readonly kind: "present" } => own.kind === "present";

/** Whether the Node exists: the cell `nodeRegistered`. */
export type Registration =
  /** `why`: the error of the last attempt. */
  | { readonly kind: "pending"; readonly why?: string }
  /** The operator creates the Node. */
  | { readonly kind: "left to others" }
  /** `reported`: the status is current, because we have just created the Node. */
  | { readonly kind: "registered"; readonly node: Node; readonly reported: boolean };

/** What the status loop computed last: the cell `nodeReport`. */
export interface NodeReport {
  readonly conditions: readonly NodeCondition[];
  /** Why the API server does not have it; empty if it has. */
  readonly trouble: string;
}

export const NO_REPORT: NodeReport = { conditions: [], trouble: "" };

/** What we last wrote: the cell `nodeSynced`. */
export type NodeSync =
  | { readonly kind: "never" }
  | { readonly kind: "synced"; readonly node: Node; readonly ready: boolean };
