/**
 * [10] What the node reports about itself is true. Its Ready condition is not True while the runtime is unusable, and
 * is True otherwise. Its lease is not renewed while the main loop is dead.
 *
 * The main loop is dead when a pod that the watch delivered got no decision for as long as the agent's own watchdog
 * allows. The agent does not stop the lease itself: its watchdog is then no longer fed, and the service manager ends
 * the process.
 */
import type { Lease } from "../src/api/gen/coordination-v1.ts";
import type { Node } from "../src/api/gen/core-v1.ts";
import { leases, nodes } from "../src/api/resources.ts";
import { silenceMsMax } from "../src/server/healthz.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import type { FaultLog } from "./fault-log.ts";
import type { SimNode } from "./sim-node.ts";
import type { World } from "./world.ts";

export interface NodeSight {
  readonly world: World;
  readonly node: SimNode;
  readonly faults: FaultLog;
  /** Since when the agent knows the pod that has waited longest for its decision; undefined if none waits. */
  readonly undecidedSinceMs: () => number | undefined;
  readonly violation: (text: string) => void;
}

/** A runtime counts as down after 30 s. The status is checked every 10 s, and a write may be retried. */
const REPORTED_MS = 60_000;
const SYNC_EVERY_MS = 60_000;
const NODE_KIND = kindOf(nodes);
const LEASE_KIND = kindOf(leases);

export class NodeOracle {
  readonly #sight: NodeSight;
  /** Whether the runtime answers, and since when. */
  #runtime = { answers: true, sinceMs: Number.NEGATIVE_INFINITY };
  /** When the agent last could not reach the API server. */
  #awayMs = Number.NEGATIVE_INFINITY;
  #wasReady = false;
  #lease: Lease | undefined;

  constructor(sight: NodeSight) {
    this.#sight = sight;
  }

  check(): void {
    const { world, node } = this.#sight;
    const nowMs = world.clock.monotonicMs();
    const { answers } = node.runtime;
    if (answers !== this.#runtime.answers) this.#runtime = { answers, sinceMs: nowMs };
    if (world.api.isAway) this.#awayMs = nowMs;
    this.#checkReady(nowMs);
    this.#checkLease(nowMs);
  }

  #checkReady(nowMs: number): void {
    const { world, node, faults, violation } = this.#sight;
    const own = world.api.store.get(NODE_KIND, `/${node.name}`) as unknown as Node | undefined;
    if (own === undefined) return;
    const isReady = own.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
    const { answers, sinceMs } = this.#runtime;
    const ageMs = nowMs - Math.max(sinceMs, this.#awayMs, node.startedMonotonicMs);
    const isLate = node.isRunning && ageMs > REPORTED_MS;
    const wasDisturbed = faults.concerned("runtime", nowMs - REPORTED_MS);
    if (isReady && !answers && isLate) violation("[10] the node is Ready though the runtime is unusable");
    if (!isReady && isLate && !wasDisturbed) violation("[10] the node is not Ready though the runtime is usable");
    if (this.#wasReady && !isReady && !wasDisturbed)
      violation("[10] Ready became False although the runtime is usable");
    this.#wasReady = isReady;
  }

  #checkLease(nowMs: number): void {
    const { world, node, faults, undecidedSinceMs, violation } = this.#sight;
    const lease = world.api.store.get(LEASE_KIND, `kube-node-lease/${node.name}`) as unknown as Lease | undefined;
    if (lease === this.#lease) return;
    this.#lease = lease;
    const sinceMs = undecidedSinceMs();
    if (sinceMs === undefined || nowMs - sinceMs <= silenceMsMax(SYNC_EVERY_MS)) return;
    if (faults.concerned("memory", sinceMs) || faults.concerned("runtime", sinceMs)) return;
    violation(`[10] the lease is renewed though the main loop decided on no pod for ${nowMs - sinceMs} ms`);
  }
}
