/** What is known of our Node: the values of the cells by which the node's loops and the others meet. */
import type { Node } from "../../api/gen/core-v1.ts";

/** As the API server has it: the cell `ownNode`. */
export type OwnNode =
  /** The API server has not answered yet. */
  { readonly kind: "unknown" } | { readonly kind: "absent" } | { readonly kind: "present"; readonly node: Node };

/** Whether it is there at all: the cell `nodeRegistered`. */
export type Registration =
  | { readonly kind: "pending" }
  /** The operator makes the Node. */
  | { readonly kind: "left to others" }
  /** `reported`: its status is of now, because we have just made it. */
  | { readonly kind: "registered"; readonly node: Node; readonly reported: boolean };

/** What we last wrote: the cell `nodeSynced`. */
export type NodeSync =
  | { readonly kind: "never" }
  | { readonly kind: "synced"; readonly node: Node; readonly ready: boolean };
