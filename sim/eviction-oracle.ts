/**
 * [17] Which pods are evicted, when and how often: judged by what the containers really use and by what the machine
 * really has left. Nothing here calls the code that measures, ranks or chooses.
 *
 * A choice is judged when the journal first contains it. What it rests on was measured before that: for memory within
 * seconds, for disk and process IDs up to a measurement interval ago. A rule is broken only if it is for every moment
 * in between.
 */
import type { Node, Pod } from "../src/api/gen/core-v1.ts";
import { nodes } from "../src/api/resources.ts";
import { parseQuantity, quantityValue } from "../src/base/quantity.ts";
import type { JournalRecord } from "../src/domain/journal/records.ts";
import { isCriticalPod } from "../src/domain/pod/pod-identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import type { ContainerRecord } from "./fake-runtime/records.ts";
import type { FaultLog } from "./fault-log.ts";
import { evictionMessage, isEviction, type JournaledPods } from "./journaled-pods.ts";
import { type Resource, requestOf, useBetween } from "./pod-use.ts";
import type { CallListener, PortCall } from "./port-calls.ts";
import type { SimNode } from "./sim-node.ts";
import type { Situation } from "./swarm/coverage.ts";
import { entryAt } from "./workload/disk-view.ts";
import type { World } from "./world.ts";

/** A threshold of the agent's configuration. */
export interface KnownThreshold {
  readonly resource: Resource;
  /** Met if less is available. */
  readonly amount: number;
  readonly graceMs: number;
}

export interface EvictionSight {
  readonly world: World;
  readonly node: SimNode;
  readonly podOf: (uid: string) => Pod | undefined;
  /** The pods of the API server that are bound to the node. */
  readonly pods: () => readonly Pod[];
  readonly recordsOf: (uid: string) => readonly ContainerRecord[];
  readonly journaled: JournaledPods;
  readonly faults: FaultLog;
  readonly note: (situation: Situation) => void;
  readonly violation: (text: string) => void;
}

interface Shortage {
  /** Since when the threshold has been met without a break. */
  sinceMs: number | undefined;
  /** When it was last met, and how long the shortage had lasted by then. */
  lastMs: number;
  lastedMs: number;
}

const NEVER_MS = Number.NEGATIVE_INFINITY;
const STARTS: ReadonlySet<string> = new Set(["RunPodSandbox", "CreateContainer", "StartContainer"]);
const LOW_ON = /^The node was low on resource: (?<resource>[^.]+)\. /;
const RESOURCES: Readonly<Record<string, Resource>> = { memory: "memory", "ephemeral-storage": "disk", pids: "pids" };
const CONDITIONS = { memory: "MemoryPressure", disk: "DiskPressure", pids: "PIDPressure" } as const;
const REPLY_MS = 10;
/**
 * How long before the choice its measurements may have been made: the interval, the time limit of the statistics, and
 * the write of the journal. Statistics of writable layers may be one interval older.
 */
const MEASURED_MS = { memory: 8_000, disk: 32_000, pids: 18_000 } as const satisfies Readonly<Record<Resource, number>>;
/** Files of volumes are measured once a minute. */
const VOLUMES_MS = 80_000;
/** Logs and files that are not in a script. */
const DISK_SLACK = 2 ** 20;
/** An evicted pod is waited for at least this long. */
const WAIT_MS = 40_000;
/** While a resource is short and a pod can be evicted, one is evicted within this time. */
const BOUND_MS = { memory: 30_000, disk: 75_000, pids: 50_000 } as const satisfies Readonly<Record<Resource, number>>;
/** How often this oracle reads what the node has left, and whether an eviction is due. */
const FOLLOW_EVERY_MS = 100;
const BOUND_EVERY_MS = 1_000;
/** A call to the runtime gets no answer for at most this long. */
const HANG_MS = 240_000;

export class EvictionOracle implements CallListener {
  /** The thresholds of the agent. Without any, the rules about them judge that nothing is ever short. */
  thresholds: readonly KnownThreshold[] = [];
  /** Called when a pod is first seen to be chosen. */
  onChoice: () => void = () => {};
  readonly #sight: EvictionSight;
  readonly #shortages = new Map<KnownThreshold, Shortage>();
  /** Pods that were chosen, and those whose termination for an eviction began. */
  readonly #chosen = new Set<string>();
  readonly #evicted = new Map<string, { readonly atMs: number; readonly resource: Resource | undefined }>();
  readonly #statuses = new Map<string, string>();
  #node: Node | undefined;
  #followDueMs = 0;
  #boundDueMs = 0;

  constructor(sight: EvictionSight) {
    this.#sight = sight;
  }

  read(record: JournalRecord): void {
    const { uid } = record;
    if (record.kind === "decision" && record.decision.kind === "evict") this.#choose(uid, record.decision.why);
    const { termination } = this.#sight.journaled.of(uid);
    if (record.kind !== "terminating" || !isEviction(termination)) return;
    const message = evictionMessage(termination);
    this.#choose(uid, message);
    if (this.#evicted.has(uid)) return;
    this.#checkAlone(uid, message);
    this.#evicted.set(uid, { atMs: this.#nowMs, resource: resourceIn(message) });
  }

  made({ who, port, name, target, podUid }: PortCall): void {
    const { node, violation } = this.#sight;
    if (who !== node.name || port !== "runtime" || !STARTS.has(name)) return;
    const uid = podUid ?? node.runtime.containers.get(target)?.config.labels?.["io.kubernetes.pod.uid"] ?? "";
    const { atMs } = this.#evicted.get(uid) ?? {};
    if (atMs !== undefined && this.#nowMs > atMs + REPLY_MS)
      violation(`[17.5] ${name} for ${this.#nameOf(uid)}, which was evicted`);
  }

  /** After every event. */
  check(): void {
    if (this.#nowMs >= this.#followDueMs) this.#followAll();
    if (this.#nowMs >= this.#boundDueMs) {
      this.#boundDueMs = this.#nowMs + BOUND_EVERY_MS;
      if (this.#sight.node.isRunning) this.#checkBound();
    }
    this.#checkConditions();
  }

  /** [17.6] A pod is reported as evicted once, with the message that the journal has. */
  changed(after: Pod): void {
    const { journaled, violation } = this.#sight;
    const uid = after.metadata?.uid ?? "";
    const { phase, reason, message = "" } = after.status ?? {};
    const before = this.#statuses.get(uid);
    const now = phase === "Failed" && reason === "Evicted" ? message : undefined;
    const { termination } = journaled.of(uid);
    if (before !== undefined && now !== before)
      violation(`[17.6] ${this.#nameOf(uid)} was reported as evicted, and then as ${phase} for ${reason}: ${message}`);
    if (now === undefined) return;
    this.#statuses.set(uid, now);
    if (isEviction(termination) && evictionMessage(termination) !== now)
      violation(`[17.6] ${this.#nameOf(uid)} was evicted with another message than its status has`);
  }

  get #nowMs(): number {
    return this.#sight.world.clock.monotonicMs();
  }

  #nameOf(uid: string): string {
    return this.#sight.podOf(uid)?.metadata?.name ?? uid;
  }

  #available(): Readonly<Record<Resource, number>> {
    const { machine, runtime } = this.#sight.node;
    const { memoryBytes, layerBytes: _, children } = runtime.use;
    return {
      memory: Number(machine.machine.memoryBytes - machine.workingSetBytes) - memoryBytes,
      disk: Number(machine.filesystems.get("/")?.availableBytes ?? 0n),
      pids: machine.machine.pidsMax - machine.processes - children,
    };
  }

  #followAll(): void {
    this.#followDueMs = this.#nowMs + FOLLOW_EVERY_MS;
    if (this.thresholds.length === 0) return;
    const left = this.#available();
    for (const threshold of this.thresholds) this.#follow(threshold, left[threshold.resource]);
  }

  #follow(threshold: KnownThreshold, left: number): void {
    const known = this.#shortages.get(threshold) ?? { sinceMs: undefined, lastMs: NEVER_MS, lastedMs: 0 };
    this.#shortages.set(threshold, known);
    if (left >= threshold.amount) {
      known.sinceMs = undefined;
      return;
    }
    known.sinceMs ??= this.#nowMs;
    known.lastMs = this.#nowMs;
    known.lastedMs = this.#nowMs - known.sinceMs;
  }

  /** A choice that an agent forgot because it died is judged like one that it carried out. */
  #choose(uid: string, message: string): void {
    if (this.#chosen.has(uid)) return;
    this.#chosen.add(uid);
    this.onChoice();
    this.#followAll();
    const { podOf, journaled, violation } = this.#sight;
    const pod = podOf(uid);
    if (pod === undefined ? journaled.isStatic(uid) : isCriticalPod(pod)) {
      violation(`[17.5] ${this.#nameOf(uid)} was evicted although it is critical`);
      return;
    }
    const resource = resourceIn(message);
    if (pod === undefined) return;
    if (resource === undefined) this.#checkOwnLimit(pod, message);
    else {
      this.#sight.note("a pod was evicted for a threshold");
      this.#checkNeed(pod, resource);
      this.#checkRank(pod, resource);
    }
  }

  /** [17.2] [17.3] The threshold was met when it was last measured, and its grace period had passed. */
  #checkNeed({ metadata }: Pod, resource: Resource): void {
    const sinceMs = this.#nowMs - MEASURED_MS[resource];
    const isMet = this.thresholds.some((threshold) => {
      const { lastMs, lastedMs } = this.#shortages.get(threshold) ?? { lastMs: NEVER_MS, lastedMs: 0 };
      return threshold.resource === resource && lastMs >= sinceMs && lastedMs >= threshold.graceMs - REPLY_MS;
    });
    if (!isMet && !this.#isDisturbed(sinceMs))
      this.#sight.violation(`[17.2] ${metadata?.name} was evicted while the node had enough ${resource}`);
  }

  /** [17.5] No pod that could be evicted comes before the chosen one. */
  #checkRank(chosen: Pod, resource: Resource): void {
    const { pods, node, violation } = this.#sight;
    const sinceMs = this.#nowMs - MEASURED_MS[resource];
    if (this.#isDisturbed(sinceMs) || node.startedMonotonicMs > sinceMs || !this.#wasRunning(chosen, sinceMs)) return;
    this.#sight.note("the rank of an evicted pod was judged");
    for (const other of pods()) {
      if (other === chosen || !this.#isEvictable(other, sinceMs)) continue;
      if (this.#comesBefore(other, chosen, resource, sinceMs))
        violation(`[17.5] ${chosen.metadata?.name} was evicted for ${resource} before ${other.metadata?.name}`);
    }
  }

  /** Whether the first pod ranks before the second one by everything that both used in the period. */
  #comesBefore(first: Pod, second: Pod, resource: Resource, sinceMs: number): boolean {
    const { recordsOf } = this.#sight;
    const requests = [first, second].map((pod) => requestOf(pod, resource));
    const [ofFirst, ofSecond] = requests;
    if (ofFirst === undefined || ofSecond === undefined) return false;
    const slack = resource === "disk" ? DISK_SLACK : 0;
    const least = useBetween(this.#present(recordsOf(first.metadata?.uid ?? "")), resource, sinceMs).min;
    const most = useBetween(this.#present(recordsOf(second.metadata?.uid ?? "")), resource, sinceMs).max + slack;
    const priorities = [first, second].map(({ spec }) => spec?.priority ?? 0);
    const [priority = 0, otherPriority = 0] = priorities;
    if (resource !== "pids") {
      const [exceeds, mayExceed] = [least > ofFirst, most > ofSecond];
      if (exceeds && !mayExceed) return true;
      // The second may be in the group that comes first.
      if (mayExceed && !exceeds) return false;
    }
    if (priority !== otherPriority) return priority < otherPriority;
    return least - ofFirst > most - ofSecond;
  }

  /** [17.7] The pod really used more of its disk than it may, within the time in which that is measured. */
  #checkOwnLimit(pod: Pod, message: string): void {
    const { node, recordsOf, violation, note } = this.#sight;
    const { metadata, spec } = pod;
    note("a pod was evicted for a limit of its own");
    const limits = (spec?.containers ?? []).map(({ resources }) => bytesOf(resources?.limits?.["ephemeral-storage"]));
    const layers = useBetween(recordsOf(metadata?.uid ?? ""), "disk", this.#nowMs - VOLUMES_MS).max;
    const isAboveLayer = limits.some((limit) => limit !== undefined && layers + DISK_SLACK > limit);
    const isAboveVolume = (spec?.volumes ?? []).some(({ name, emptyDir }) => {
      const limit = bytesOf(emptyDir?.sizeLimit);
      const path = `/var/lib/kubelet/pods/${metadata?.uid}/volumes/kubernetes.io~empty-dir/${name}`;
      return limit !== undefined && filesBytes(node, path) > limit;
    });
    if (!isAboveLayer && !isAboveVolume)
      violation(`[17.7] ${metadata?.name} was evicted although it kept its limits: ${message}`);
  }

  /** [17.5] One pod at a time for thresholds: the next one waits until nothing is left of the last. */
  #checkAlone(uid: string, message: string): void {
    const { podOf, journaled, violation } = this.#sight;
    const resource = resourceIn(message);
    if (resource === undefined) return;
    const isSoft = (each: Resource) => this.thresholds.some((one) => one.resource === each && one.graceMs > 0);
    for (const [other, { atMs, resource: its }] of this.#evicted) {
      if (its === undefined || podOf(other) === undefined || journaled.of(other).isFinished) continue;
      // A hard threshold does not wait for a pod that a soft one evicted.
      if (isSoft(its) || this.#nowMs - atMs >= WAIT_MS || podOf(other)?.metadata?.deletionTimestamp !== undefined)
        continue;
      violation(`[17.5] ${this.#nameOf(uid)} was evicted while ${this.#nameOf(other)} was being evicted`);
    }
  }

  /** [17.5] While a resource stays short and a pod can be evicted, one is evicted in time. */
  #checkBound(): void {
    const { node, world, pods, faults, violation } = this.#sight;
    for (const [{ resource, graceMs }, { sinceMs }] of this.#shortages) {
      const boundMs = BOUND_MS[resource] + graceMs;
      const beganMs = Math.max(
        sinceMs ?? Number.POSITIVE_INFINITY,
        node.startedMonotonicMs,
        world.api.podsWatchedSinceMs(node.name) ?? Number.POSITIVE_INFINITY,
        ...[...this.#evicted.values()].map(({ atMs }) => atMs + WAIT_MS),
      );
      if (this.#nowMs - beganMs <= boundMs) continue;
      if (faults.concerned("runtime", beganMs - HANG_MS) || this.#isDisturbed(beganMs - HANG_MS)) continue;
      const left = pods().filter((pod) => this.#isEvictable(pod, beganMs));
      if (left.length > 0)
        violation(`[17.5] the node is short of ${resource}, and nothing evicts ${left[0]?.metadata?.name}`);
    }
  }

  /** [17.8] A pressure condition does not end while the resource is short. */
  #checkConditions(): void {
    const { node, world, violation } = this.#sight;
    const own = world.api.store.get(NODE_KIND, `/${node.name}`) as unknown as Node | undefined;
    if (own === this.#node) return;
    for (const resource of ["memory", "disk", "pids"] as const) {
      const has = (object: Node | undefined) =>
        object?.status?.conditions?.some(({ type, status }) => type === CONDITIONS[resource] && status === "True");
      if (has(this.#node) !== true || has(own) === true) continue;
      const sinceMs = [...this.#shortages].flatMap(([threshold, shortage]) =>
        threshold.resource === resource ? (shortage.sinceMs ?? []) : [],
      );
      const isShort = sinceMs.some((atMs) => this.#nowMs - atMs > MEASURED_MS[resource]);
      if (isShort && !this.#isDisturbed(this.#nowMs - HANG_MS))
        violation(`[17.8] ${CONDITIONS[resource]} ended while the node was short of ${resource}`);
    }
    this.#node = own;
  }

  #isDisturbed(sinceMs: number): boolean {
    const { faults } = this.#sight;
    return (["memory", "stats", "runtime"] as const).some((kind) => faults.concerned(kind, sinceMs));
  }

  /** Whether the agent knew the pod as one that it may evict during the whole period. */
  #isEvictable(pod: Pod, sinceMs: number): boolean {
    const { isAdmitted, termination } = this.#sight.journaled.of(pod.metadata?.uid ?? "");
    const isOpen = isAdmitted && termination === undefined && pod.metadata?.deletionTimestamp === undefined;
    return isOpen && !isCriticalPod(pod) && this.#wasRunning(pod, sinceMs);
  }

  #wasRunning({ metadata }: Pod, sinceMs: number): boolean {
    return this.#sight
      .recordsOf(metadata?.uid ?? "")
      .some(({ state, startedMonotonicMs }) => state === "running" && startedMonotonicMs < sinceMs);
  }

  *#present(records: readonly ContainerRecord[]): Iterable<ContainerRecord> {
    for (const record of records) if (this.#sight.node.runtime.containers.has(record.id)) yield record;
  }
}

const NODE_KIND = kindOf(nodes);

/** Undefined: the pod exceeded a limit of its own. */
const resourceIn = (message: string): Resource | undefined =>
  RESOURCES[LOW_ON.exec(message)?.groups?.["resource"] ?? ""];

const bytesOf = (quantity: string | undefined): number | undefined =>
  quantity === undefined ? undefined : Number(quantityValue(parseQuantity(quantity)));

function filesBytes(node: SimNode, path: string): number {
  const entry = entryAt(node.files.disk, path);
  if (entry?.kind === "file") return entry.content.length;
  if (entry?.kind !== "directory") return 0;
  return [...entry.entries.keys()].reduce((sum, name) => sum + filesBytes(node, `${path}/${name}`), 0);
}
