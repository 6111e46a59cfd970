/**
 * [2] Which pods nothing may start for: those whose termination began, those that ended, and those that were never
 * admitted. [5] In which order static pods of one name start. [8] Which containers may be removed.
 *
 * Calls are judged when the agent makes them, so a call that was already in flight breaks no rule.
 */
import type { JournalRecord } from "../src/domain/journal/records.ts";
import type { FaultLog } from "./fault-log.ts";
import type { JournaledPods } from "./journaled-pods.ts";
import type { CallListener, CallResult, PortCall } from "./port-calls.ts";
import type { SimNode } from "./sim-node.ts";
import { entryAt } from "./workload/disk-view.ts";

export interface StartSight {
  readonly node: SimNode;
  readonly nowMs: () => number;
  readonly journaled: JournaledPods;
  readonly faults: FaultLog;
  readonly nameOf: (uid: string) => string;
  /** When the oracle first saw the pod; undefined for a pod that is not from the API server. */
  readonly createdMs: (uid: string) => number | undefined;
  readonly isGone: (uid: string) => boolean;
  /** When the agent's watch delivered that the pod is being deleted or gone; infinity if it did not. */
  readonly deletionDeliveredMs: (uid: string) => number;
  /** When the pod's terminal phase was published; infinity if it was not. */
  readonly terminalMs: (uid: string) => number;
  readonly violation: (text: string) => void;
}

const STARTS: ReadonlySet<string> = new Set(["RunPodSandbox", "CreateContainer", "StartContainer"]);
/** The reply to a write, or a watch event, arrives within this time. */
const REPLY_MS = 10;
/** An agent that observes a deletion stops its work in progress within this time. */
export const IN_FLIGHT_MS = 2_000;

export class StartOracle implements CallListener {
  readonly #sight: StartSight;
  /** IDs of containers whose StartContainer reply reached the agent. */
  readonly #answered = new Set<string>();
  /** Static pods by full name, in the order in which the agent accepted their manifests. */
  readonly #manifests = new Map<string, Manifest[]>();

  constructor(sight: StartSight) {
    this.#sight = sight;
  }

  read(record: JournalRecord): void {
    if (record.kind !== "staticPod") return;
    const { pod, uid, source } = record;
    const known = this.#manifests.get(pod) ?? [];
    // A manifest that is still wanted keeps its place; one that returns comes last.
    if (known.some((each) => each.uid === uid && each.source === source && each.replacedMs > this.#sight.nowMs()))
      return;
    const others = known.filter((each) => each.uid !== uid);
    for (const each of others) if (each.source === source) each.replacedMs = this.#sight.nowMs();
    this.#manifests.set(pod, [...others, { uid, source, replacedMs: Number.POSITIVE_INFINITY }]);
  }

  made(call: PortCall): void {
    if (call.who !== this.#sight.node.name || call.port !== "runtime") return;
    if (call.name === "RemoveContainer") this.#checkRemoval(call.target);
    if (!STARTS.has(call.name)) return;
    const uid = call.podUid ?? this.#sight.node.runtime.containers.get(call.target)?.config.labels?.[UID_LABEL];
    if (uid === undefined) return;
    this.#checkCall(call, uid);
    if (call.name === "RunPodSandbox") this.#checkOrder(call, uid);
  }

  settled(call: PortCall, result: CallResult): void {
    if (call.name === "StartContainer" && result === "ok") this.#answered.add(call.target);
  }

  /** Whether the agent received the reply that the container runs. */
  wasAnswered(containerId: string): boolean {
    return this.#answered.has(containerId);
  }

  #checkCall({ name }: PortCall, uid: string): void {
    const { nowMs, journaled, faults, nameOf, createdMs, deletionDeliveredMs, terminalMs, violation } = this.#sight;
    const what = `${name} for ${nameOf(uid)}`;
    const { isAdmitted, termination, terminalMs: endedMs = Number.POSITIVE_INFINITY } = journaled.of(uid);
    if (nowMs() > (termination?.sinceMs ?? Number.POSITIVE_INFINITY) + REPLY_MS)
      violation(`[2] ${what} after the journal said that it terminates`);
    if (nowMs() > deletionDeliveredMs(uid) + IN_FLIGHT_MS)
      violation(`[2] ${what} though the agent had received its deletion`);
    if (nowMs() > Math.min(endedMs, terminalMs(uid)) + REPLY_MS) violation(`[2] ${what} after its terminal phase`);
    if (!isAdmitted && !faults.concerned("memory", createdMs(uid) ?? 0, uid))
      violation(`[2] ${what}, which was never admitted`);
  }

  /**
   * [8] A container's exit is journaled before the container is removed, as long as a pod exists whose status reports
   * the exit.
   */
  #checkRemoval(id: string): void {
    const { node, nowMs, journaled, faults, createdMs, isGone, nameOf, violation } = this.#sight;
    const record = node.runtime.containers.get(id);
    const uid = record?.config.labels?.[UID_LABEL] ?? "";
    // A runtime that lost track of a container has no exit to report.
    if (record?.startedWallNs === undefined || record.overlooked === true || journaled.exited.has(id)) return;
    if (createdMs(uid) === undefined || isGone(uid)) return;
    // A container that started after the agent queried its state, which takes two replies, is removed as one that did
    // not start.
    const isKnown = nowMs() > record.startedMonotonicMs + 2 * REPLY_MS;
    if (isKnown && !faults.concerned("memory", createdMs(uid) ?? 0, uid))
      violation(`[8] ${record.config.metadata.name} of ${nameOf(uid)} is removed, and its exit is not in the journal`);
  }

  /**
   * [5] A source wants one pod of a name at a time. A static pod does not overtake an earlier wanted pod of its name,
   * and does not start once another manifest has replaced its own.
   */
  #checkOrder({ target }: PortCall, uid: string): void {
    const { nowMs, journaled, node, violation } = this.#sight;
    const name = target.slice(0, target.lastIndexOf("/"));
    const manifests = this.#manifests.get(name) ?? [];
    const place = manifests.findIndex((each) => each.uid === uid);
    if (nowMs() > (manifests[place]?.replacedMs ?? Number.POSITIVE_INFINITY) + IN_FLIGHT_MS)
      violation(`[5] static pod ${name} (${uid}) started though another manifest took its place`);
    for (const { uid: earlier, source, replacedMs } of manifests.slice(0, Math.max(0, place))) {
      const { isFinished, termination } = journaled.of(earlier);
      const isWanted = replacedMs > nowMs() && isThere(node, source);
      if (isWanted && !isFinished && termination === undefined)
        violation(`[5] static pod ${name} (${uid}) started before ${earlier}, which came first`);
    }
  }
}

interface Manifest {
  readonly uid: string;
  readonly source: string;
  /** When the agent accepted another manifest of that name from that source. */
  replacedMs: number;
}

const FILE = "file:";
/** Whether the manifest's file exists. Sources other than files are not checked. */
const isThere = (node: SimNode, source: string): boolean =>
  !source.startsWith(FILE) || entryAt(node.files.disk, source.slice(FILE.length)) !== undefined;

const UID_LABEL = "io.kubernetes.pod.uid";
