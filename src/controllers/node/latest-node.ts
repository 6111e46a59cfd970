/**
 * The newest known version of this node's Node. The response to a patch is newer than the watch's copy until the watch
 * delivers that version. Resource versions can only be compared for equality, so after `preferForMs` the watch's copy
 * is used in any case.
 */
import type { Node } from "../../api/gen/core-v1.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { Clock } from "../../ports/clock.ts";

interface Answer {
  readonly node: Node;
  readonly atMs: number;
  /** The version of the cell when the response arrived. */
  readonly seenVersion: number;
}

export class LatestNode {
  readonly #ownNode: Latest<OwnNode>;
  readonly #clock: Clock;
  readonly #preferForMs: number;
  #answer: Answer | undefined;

  constructor(ownNode: Latest<OwnNode>, clock: Clock, preferForMs: number) {
    this.#ownNode = ownNode;
    this.#clock = clock;
    this.#preferForMs = preferForMs;
  }

  learn(node: Node): void {
    this.#answer = { node, atMs: this.#clock.monotonicMs(), seenVersion: this.#ownNode.version };
  }

  /** Undefined if no Node is known. */
  current(): Node | undefined {
    const { value, version } = this.#ownNode;
    if (this.#answer !== undefined && this.#isNewer(this.#answer, value, version)) return this.#answer.node;
    this.#answer = undefined;
    return value.kind === "present" ? value.node : undefined;
  }

  #isNewer({ node, atMs, seenVersion }: Answer, value: OwnNode, version: number): boolean {
    if (sameVersion(value, node)) return false;
    // If the watch delivered nothing since the response, its copy cannot be newer, however much time has passed.
    return version === seenVersion || this.#clock.monotonicMs() - atMs < this.#preferForMs;
  }
}

const sameVersion = (value: OwnNode, node: Node) =>
  value.kind === "present" && value.node.metadata?.resourceVersion === node.metadata?.resourceVersion;
