/**
 * Provides this node's Node for loops that need one in any case: the API server's copy, or else the Node as it would
 * first be registered. The latter is made from one snapshot of the machine and kept. If the machine could not be read,
 * the Node lacks allocatable pods and the next caller makes it again.
 */
import type { Node } from "../../api/gen/core-v1.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import { initialNode, type RegistrationOptions } from "../../domain/node/initial-node.ts";
import { isComplete, type NodeOptions } from "../../domain/node/node-status.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { SnapshotReader } from "./snapshot.ts";

export interface LocalNodeParts {
  readonly ownNode: Latest<OwnNode>;
  readonly snapshots: Pick<SnapshotReader, "read">;
  readonly registration: RegistrationOptions;
  readonly options: NodeOptions;
}

export class LocalNode {
  readonly #parts: LocalNodeParts;
  #initial: Node | undefined;

  constructor(parts: LocalNodeParts) {
    this.#parts = parts;
  }

  async read(signal: AbortSignal): Promise<Node> {
    const { ownNode, snapshots, registration, options } = this.#parts;
    if (ownNode.value.kind === "present") return ownNode.value.node;
    if (this.#initial !== undefined) return this.#initial;
    const { node } = initialNode(registration, await snapshots.read(undefined, signal), options);
    if (isComplete(node)) this.#initial = node;
    return node;
  }
}
