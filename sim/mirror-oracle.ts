/**
 * Invariants of mirror pods, checked after every event. A static pod whose manifest was removed or edited is shown
 * until it has terminated.
 */
import type { Pod } from "../src/api/gen/core-v1.ts";
import { CONFIG_MIRROR } from "../src/domain/pod/pod-identity.ts";
import type { JournaledPods } from "./journaled-pods.ts";
import type { SimNode } from "./sim-node.ts";

export interface MirrorOracleParts {
  readonly node: SimNode;
  readonly journaled: Pick<JournaledPods, "endingsOf">;
  /** The hash of the manifest that a container was started from. */
  readonly hashOf: (containerId: string) => string | undefined;
  /** A user removed the mirror pod without grace. */
  readonly isForced: (uid: string) => boolean;
  readonly checkOwn: (pod: Pod) => void;
  readonly checkForward: (before: Pod, after: Pod) => void;
  readonly violation: (text: string) => void;
}

export class MirrorOracle {
  readonly #parts: MirrorOracleParts;
  readonly #mirrors = new Map<string, { readonly pod: Pod; readonly endings: number }>();

  constructor(parts: MirrorOracleParts) {
    this.#parts = parts;
  }

  /**
   * A static pod whose manifest is removed and written again at once ends and starts over under the same mirror pod.
   */
  check(uid: string, pod: Pod): void {
    const known = this.#mirrors.get(uid);
    if (known?.pod === pod) return;
    const endings = this.#parts.journaled.endingsOf(hashOf(pod));
    this.#mirrors.set(uid, { pod, endings });
    if (known === undefined || known.endings < endings) this.#parts.checkOwn(pod);
    else this.#parts.checkForward(known.pod, pod);
  }

  /** `present`: the UIDs of all pods in the API server. */
  checkGone(present: ReadonlySet<string>): void {
    for (const [uid, { pod }] of this.#mirrors) {
      if (present.has(uid)) continue;
      this.#mirrors.delete(uid);
      const isUsers = this.#parts.isForced(uid) || pod.metadata?.deletionTimestamp !== undefined;
      if (!isUsers) this.#checkRemoval(pod);
    }
  }

  /** [4.8] Only a user removes the mirror pod of a static pod whose containers run. */
  #checkRemoval(pod: Pod): void {
    const { node, hashOf: startedFrom, violation } = this.#parts;
    for (const { id, state, config } of node.runtime.containers.values()) {
      if (state !== "running" || startedFrom(id) !== hashOf(pod)) continue;
      violation(`[4.8] ${pod.metadata?.name}: its mirror pod was removed while ${config.metadata.name} ran`);
    }
  }
}

const hashOf = ({ metadata }: Pod): string => metadata?.annotations?.[CONFIG_MIRROR] ?? "";
