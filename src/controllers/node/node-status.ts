/**
 * Keeps the status of this node's Node current: checks it every ten seconds, writes when something changed, and
 * otherwise about every five minutes. The loop never reads the Node from the API server: the watch's copy and the
 * responses to its own patches suffice.
 */
import type { Node } from "../../api/gen/core-v1.ts";
import { nodes } from "../../api/resources.ts";
import { errorText } from "../../base/error-text.ts";
import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { Heartbeat } from "../../concurrency/loop-heartbeats.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import { isReady } from "../../domain/node/conditions.ts";
import { nodePatch } from "../../domain/node/node-patch.ts";
import {
  type NodeEvent,
  type NodeOptions,
  type NodeUpdate,
  notReadyMessages,
  statusEvent,
  updatedNode,
} from "../../domain/node/node-status.ts";
import {
  isPresent,
  type NodeReport,
  type NodeSync,
  type OwnNode,
  type Registration,
} from "../../domain/node/own-node.ts";
import {
  decideReport,
  FAST_FOR_MS,
  FAST_LOOK_MS,
  type LastReport,
  nextLookMs,
  nodeChanged,
} from "../../domain/node/report-decision.ts";
import { networkTroubles, RUNTIME_DOWN_AFTER_MS, runtimeTroubles } from "../../domain/node/runtime-health.ts";
import { qosCgroupTroubles } from "../../domain/resources/qos-cgroup-state.ts";
import { isNotFound } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { LatestNode } from "./latest-node.ts";
import { tellNodeEvents } from "./node-events.ts";
import type { SnapshotReader } from "./snapshot.ts";

const TRIES_MAX = 5;
const CGROUP_V1 =
  "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. " +
  "More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1";

export interface NodeStatusOptions {
  readonly updateEveryMs: number;
  readonly reportEveryMs: number;
}

export interface NodeStatusParts {
  /** A client for heartbeats, as for the Lease. */
  readonly api: Pick<ApiServer, "patch">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly events: EventSink;
  readonly cgroups: { readonly version: 1 | 2 };
  readonly snapshots: Pick<SnapshotReader, "read" | "readiness">;
  readonly ownNode: Latest<OwnNode>;
  readonly nodeRegistered: Latest<Registration>;
  readonly nodeSynced: LatestCell<NodeSync>;
  readonly nodeReport: LatestCell<NodeReport>;
  readonly options: NodeOptions;
  readonly cadence: NodeStatusOptions;
  readonly onRepeatedFailure: () => void;
  readonly heartbeat: Heartbeat;
}

export async function runNodeStatus(parts: NodeStatusParts, shutdown: AbortSignal): Promise<void> {
  const loop = new NodeStatusLoop(parts);
  await unlessShutDown(shutdown, () => loop.run(shutdown));
}

class NodeStatusLoop {
  readonly #parts: NodeStatusParts;
  readonly #latest: LatestNode;
  #last: LastReport | undefined;
  #unschedulable = false;
  readonly #fastUntilMs: number;

  constructor(parts: NodeStatusParts) {
    this.#parts = parts;
    this.#latest = new LatestNode(parts.ownNode, parts.clock, parts.cadence.updateEveryMs);
    this.#fastUntilMs = parts.clock.monotonicMs() + FAST_FOR_MS;
  }

  async run(shutdown: AbortSignal): Promise<never> {
    this.#tell([{ type: "Normal", reason: "Starting", message: "Starting kubelet." }]);
    if (this.#parts.cgroups.version === 1) this.#tell([{ type: "Warning", reason: "CgroupV1", message: CGROUP_V1 }]);
    await this.#parts.heartbeat.waits(this.#registered(shutdown));
    await this.#settled(shutdown);
    for (;;) {
      const worked = await this.#sync(shutdown);
      await this.#pause(worked, shutdown);
    }
  }

  /** Waits until the Node exists, registered by us or by the operator. */
  async #registered(shutdown: AbortSignal): Promise<void> {
    const { nodeRegistered, nodeSynced, ownNode, clock } = this.#parts;
    const value = await waitForValue(nodeRegistered, ({ kind }) => kind !== "pending", shutdown);
    if (value.kind === "registered") {
      this.#latest.learn(value.node);
      if (!value.reported) return;
      this.#last = { atMs: clock.monotonicMs(), delayMs: this.#firstDelayMs() };
      nodeSynced.set({ kind: "synced", node: value.node, ready: isReady(value.node.status?.conditions) });
      return;
    }
    await waitForValue(ownNode, isPresent, shutdown);
  }

  /**
   * A Node that a previous kubelet process left Ready stays Ready while nothing contradicts it. A runtime counts as
   * down only after `RUNTIME_DOWN_AFTER_MS` without a response. The CSINode counts as missing only after a failed
   * lookup. A restart alone is no reason for NotReady.
   */
  async #settled(shutdown: AbortSignal): Promise<void> {
    const { clock, snapshots } = this.#parts;
    const untilMs = clock.monotonicMs() + RUNTIME_DOWN_AFTER_MS;
    const isUnknown = () => {
      const { runtime, qosCgroups, notReadyReasons } = snapshots.readiness();
      if (notReadyReasons.shutdown !== undefined) return false;
      const troubles = [...runtimeTroubles(runtime), ...networkTroubles(runtime), ...qosCgroupTroubles(qosCgroups)];
      return notReadyReasons.storage !== undefined || troubles.length > 0;
    };
    while (isReady(this.#latest.current()?.status?.conditions) && isUnknown() && clock.monotonicMs() < untilMs) {
      await sleep(clock, FAST_LOOK_MS, shutdown);
    }
  }

  /** A Node that we just created contains a current report: the next periodic report is spread as after any change. */
  #firstDelayMs(): number {
    const { cadence, random } = this.#parts;
    const decision = decideReport({
      changed: true,
      last: undefined,
      nowMs: 0,
      reportEveryMs: cadence.reportEveryMs,
      fraction: random.fraction(),
    });
    return decision.kind === "report" ? decision.delayMs : 0;
  }

  /** At startup the node is checked frequently until it can be Ready; after a failure only at the usual interval. */
  async #pause(worked: boolean, shutdown: AbortSignal): Promise<void> {
    const { clock, random, cadence, snapshots } = this.#parts;
    const untilMs = clock.monotonicMs() + nextLookMs(cadence.updateEveryMs, random.fraction());
    for (;;) {
      const nowMs = clock.monotonicMs();
      if (nowMs >= untilMs) return;
      const node = this.#latest.current();
      if (!worked || nowMs >= this.#fastUntilMs || isReady(node?.status?.conditions)) {
        await sleep(clock, untilMs - nowMs, shutdown);
        return;
      }
      await sleep(clock, Math.min(FAST_LOOK_MS, untilMs - nowMs), shutdown);
      const capacity = node?.status?.capacity ?? {};
      if (notReadyMessages(snapshots.readiness(), capacity, this.#parts.options.localStorage).length === 0) return;
    }
  }

  /** Returns whether the API server now has the current status. */
  async #sync(shutdown: AbortSignal): Promise<boolean> {
    const { log, nodeReport, onRepeatedFailure, options, heartbeat } = this.#parts;
    for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
      heartbeat.beat();
      const known = this.#latest.current();
      if (known === undefined) {
        log.error("Unable to update node status", new Error(`node ${JSON.stringify(options.name)} not found`));
        return false;
      }
      try {
        await this.#syncOnce(known, shutdown);
        return true;
      } catch (error) {
        shutdown.throwIfAborted();
        log.error("Error updating node status, will retry", error, { tries });
        nodeReport.set({ ...nodeReport.value, trouble: errorText(error) });
        if (isNotFound(error)) return false;
        if (tries > 1) onRepeatedFailure();
      }
    }
    log.error("Unable to update node status", new Error("update node status exceeds retry count"));
    return false;
  }

  async #syncOnce(known: Node, signal: AbortSignal): Promise<void> {
    const { clock, random, snapshots, nodeReport, options, cadence } = this.#parts;
    this.#tellSchedulable(known);
    const update = updatedNode(known, await snapshots.read(known, signal), options);
    nodeReport.set({ ...nodeReport.value, conditions: update.node.status?.conditions ?? [] });
    const nowMs = clock.monotonicMs();
    const decision = decideReport({
      changed: nodeChanged(known, update.node),
      last: this.#last,
      nowMs,
      reportEveryMs: cadence.reportEveryMs,
      fraction: random.fraction(),
    });
    if (decision.kind === "report") await this.#report(known, update, signal);
    // A skipped report is one that the API server already has.
    nodeReport.set({ ...nodeReport.value, trouble: "" });
    if (decision.kind === "skip") return;
    this.#last = { atMs: nowMs, delayMs: decision.delayMs };
  }

  async #report(known: Node, { node, events }: NodeUpdate, signal: AbortSignal): Promise<void> {
    const { api, options, nodeSynced } = this.#parts;
    const body = nodePatch(known, node);
    if (body !== undefined) {
      const patch = { kind: "strategic", body } as const;
      this.#latest.learn(await api.patch(nodes, { name: options.name }, patch, { subresource: "status" }, signal));
    }
    this.#tell(events);
    const synced = this.#latest.current() ?? node;
    nodeSynced.set({ kind: "synced", node: synced, ready: isReady(synced.status?.conditions) });
  }

  #tellSchedulable({ spec }: Node): void {
    const unschedulable = spec?.unschedulable ?? false;
    if (unschedulable === this.#unschedulable) return;
    this.#unschedulable = unschedulable;
    this.#tell([statusEvent(this.#parts.options.name, unschedulable ? "NodeNotSchedulable" : "NodeSchedulable")]);
  }

  #tell(events: readonly NodeEvent[]): void {
    tellNodeEvents(this.#parts.events, this.#parts.options.name, events);
  }
}
