/** What is known of our Node: the values of the cells that the node's loops share with other loops. */
import type { Node } from "../../api/gen/core-v1.ts";

/** As the API server has it: the cell `ownNode`. */
export type OwnNode =
  /** The API server has not answered yet. */
  { readonly kind: "unknown" } | { readonly kind: "absent" } | { readonly kind: "present"; readonly node: Node };

export const isPresent = (own: OwnNode): own is OwnNode & { readonly kind: "present" } => own.kind === "present";

/** Whether the Node exists: the cell `nodeRegistered`. */
export type Registration =
  | { readonly kind: "pending" }
  /** The operator creates the Node. */
  | { readonly kind: "left to others" }
  /** `reported`: the status is current, because we have just created the Node. */
  | { readonly kind: "registered"; readonly node: Node; readonly reported: boolean };

/** What we last wrote: the cell `nodeSynced`. */
export type NodeSync =
  | { readonly kind: "never" }
  | { readonly kind: "synced"; readonly node: Node; readonly ready: boolean };
