/**
 * Invariants of pod resizes. Pods are not allocated more than the machine has. No container is limited to less memory
 * than it uses. A resize that was not done is not reported as done. No allocation is published that is not in the
 * journal. Allocations are read from the journal on the disk, actual resources from the runtime.
 */
import type { Container, Pod, ResourceRequirements } from "../src/api/gen/core-v1.ts";
import { quantityMilliValue, quantityValue } from "../src/base/quantity.ts";
import { amountOf } from "../src/domain/admission/resource-fit.ts";
import type { JournalRecord } from "../src/domain/journal/records.ts";
import { containerNamed } from "../src/domain/pod/containers.ts";
import { effective } from "../src/domain/resize/actuation.ts";
import { allocated, allocationOf, type ResourceAllocation, withAllocation } from "../src/domain/resize/allocation.ts";
import { DEFAULT_PERIOD_US, quotaUsOf, sharesOf } from "../src/domain/resources/cpu-units.ts";
import { podRequests, specOf } from "../src/domain/resources/pod-resources.ts";
import { parseResourceList } from "../src/domain/resources/resource-list.ts";
import type { LinuxResources } from "../src/domain/runtime/resources.ts";
import type { ContainerRecord } from "./fake-runtime/records.ts";
import type { FaultLog } from "./fault-log.ts";
import type { SimNode } from "./sim-node.ts";
import { IN_FLIGHT_MS } from "./start-oracle.ts";
import type { Situation } from "./swarm/coverage.ts";

export interface ResizeSight {
  readonly node: SimNode;
  readonly podOf: (uid: string) => Pod | undefined;
  /** Pods that are not gone. */
  readonly pods: () => readonly Pod[];
  readonly violation: (text: string) => void;
  /** Called with descriptions of what was observed, for coverage. */
  readonly note: (situation: Situation) => void;
  readonly nowMs: () => number;
  readonly faults: FaultLog;
}

interface Promised {
  readonly sinceMs: number;
  readonly allocation: ResourceAllocation;
  readonly generation: number;
  /** Generation of the last allocation that was recorded as carried out. */
  carriedOut: number;
  /** Part of the allocation has been applied. */
  isBegun: boolean;
}

interface RestartFacts {
  readonly promised: ResourceAllocation | undefined;
  readonly spec: Pod["spec"];
  readonly has: readonly ResourceRequirements[];
  readonly isForgotten: boolean;
}

const isSameFacts = (a: RestartFacts, b: RestartFacts): boolean =>
  a.promised === b.promised && a.spec === b.spec && a.has === b.has && a.isForgotten === b.isForgotten;

const CRITICAL = 2_000_000_000;
const DEFAULT_GRACE_SECONDS = 30;
/** A container is created from an allocation that its pod had at most this long ago. */
const DECIDED_MS = 15_000;
const RESOURCES = ["cpu", "memory"] as const;

export class ResizeOracle {
  readonly #sight: ResizeSight;
  readonly #promised = new Map<string, Promised>();
  /** By UID: every allocation of the pod, as its status may report it. */
  readonly #ever = new Map<string, Set<string>>();
  /** By UID: all allocations, oldest first. */
  readonly #allocations = new Map<string, { readonly allocation: ResourceAllocation; readonly sinceMs: number }[]>();
  /** By container id: the resources that it was last seen to have. */
  readonly #has = new Map<string, LinuxResources | undefined>();
  /** By container id: the requirements that those resources may stand for. */
  readonly #requirements = new Map<string, readonly ResourceRequirements[]>();
  /** By container id: until when it may be stopped to restart with other resources. */
  readonly #mayStopUntilMs = new Map<string, number>();
  /** By container id: whether it must restart, and the facts behind that decision. */
  readonly #restarts = new Map<string, { readonly facts: RestartFacts; readonly mustRestart: boolean }>();
  /** Ids of containers that were stopped to restart with other resources. */
  readonly #stopped = new Set<string>();

  constructor(sight: ResizeSight) {
    this.#sight = sight;
  }

  check(): void {
    this.#checkContainers();
  }

  allocationOf(uid: string): ResourceAllocation | undefined {
    return this.#promised.get(uid)?.allocation;
  }

  /** Whether an allocation is partly applied, or applied and not yet recorded as such. */
  get isUnderWay(): boolean {
    this.#checkContainers();
    return [...this.#promised.values()].some(
      ({ generation, carriedOut, isBegun }) => isBegun && generation > carriedOut,
    );
  }

  /**
   * Whether this container may be stopped now to restart with other resources: its pod was allocated an amount that
   * needs a restart under its resizePolicy. The permission ends with the container, or when it is allocated again what
   * it has. A stop in progress then continues, after its hook.
   */
  mayStop({ id }: ContainerRecord): boolean {
    const may = this.#mayStop(id);
    if (may) this.#stopped.add(id);
    return may;
  }

  #mayStop(id: string): boolean {
    return (this.#mayStopUntilMs.get(id) ?? Number.NEGATIVE_INFINITY) >= this.#sight.nowMs();
  }

  /** Whether this container was stopped to restart with other resources, which costs no back-off. */
  wasStopped(id: string): boolean {
    return this.#stopped.has(id);
  }

  changed(before: Pod, after: Pod): void {
    this.#noteConditions(before, after);
    this.#checkReported(after);
  }

  #noteConditions(before: Pod, after: Pod): void {
    const { note } = this.#sight;
    const [waited, waits] = [resizePending(before)?.reason, resizePending(after)?.reason];
    if (waits !== waited && waits === "Deferred") note("a resize was deferred");
    if (waits !== waited && waits === "Infeasible") note("a resize was infeasible");
    const isGranted = this.#promised.get(after.metadata?.uid ?? "")?.generation === after.metadata?.generation;
    if (waited === "Deferred" && waits === undefined && isGranted) note("a deferred resize was granted");
    const isRefused = resizeInProgress(after)?.reason === "Error" && resizeInProgress(before)?.reason !== "Error";
    if (isRefused && isBelowUsage(resizeInProgress(after)?.message)) note("a resize was refused because of the usage");
  }

  /** [8.1] Published allocatedResources were journaled before. */
  #checkReported({ metadata, status }: Pod): void {
    const ever = this.#ever.get(metadata?.uid ?? "");
    if (ever === undefined || this.#isForgotten(metadata?.uid)) return;
    for (const { name, allocatedResources } of status?.containerStatuses ?? []) {
      if (allocatedResources === undefined || ever.has(promiseOf(name, allocatedResources))) continue;
      this.#sight.violation(
        `[8.1] ${metadata?.name}/${name}: reported to have ${JSON.stringify(allocatedResources)}, which no journal record contains`,
      );
    }
  }

  #checkContainers(): void {
    const { node } = this.#sight;
    for (const record of node.runtime.containers.values()) {
      const isKnown = this.#has.has(record.id);
      const before = this.#has.get(record.id);
      if (!isKnown || before !== record.resources) this.#noteResources(record, isKnown, before);
      if (record.state === "running") this.#noteRestart(record);
    }
  }

  #noteResources(record: ContainerRecord, isKnown: boolean, before: LinuxResources | undefined): void {
    const { podOf, note } = this.#sight;
    this.#has.set(record.id, record.resources);
    this.#requirements.set(record.id, this.#requirementsOf(record));
    if (!isKnown || record.startedWallNs === undefined || isSame(before, record.resources)) return;
    const promised = this.#promised.get(uidOf(record));
    if (promised !== undefined) promised.isBegun = true;
    note("a running container was resized");
    const isSidecar = containerNamed(podOf(uidOf(record))?.spec, nameOf(record))?.role === "sidecar";
    if (isSidecar) note("a running sidecar was resized");
    this.#checkUsage(record, before);
  }

  /**
   * The allocations that its pod had when the agent decided and that match the runtime's amounts. The runtime has no
   * amount for a memory request.
   */
  #requirementsOf(record: ContainerRecord): readonly ResourceRequirements[] {
    const all = this.#allocations.get(uidOf(record)) ?? [];
    const sinceMs = this.#sight.nowMs() - DECIDED_MS;
    return all
      .filter((_, place) => (all[place + 1]?.sinceMs ?? Number.POSITIVE_INFINITY) >= sinceMs)
      .flatMap(({ allocation }) => allocated(effective(allocation), nameOf(record)) ?? [])
      .filter((own) => unlikeIn(record, own).length === 0);
  }

  #noteRestart(record: ContainerRecord): void {
    const { podOf, nowMs } = this.#sight;
    const pod = podOf(uidOf(record));
    if (pod === undefined || !this.#mustRestart(record, pod)) return;
    const { terminationGracePeriodSeconds: graceSeconds = DEFAULT_GRACE_SECONDS } = pod.spec ?? {};
    this.#mayStopUntilMs.set(record.id, nowMs() + graceSeconds * 1_000 + IN_FLIGHT_MS);
  }

  #mustRestart(record: ContainerRecord, pod: Pod): boolean {
    const promised = this.#promised.get(uidOf(record))?.allocation;
    const facts = {
      promised,
      spec: pod.spec,
      has: this.#requirements.get(record.id) ?? [],
      isForgotten: this.#isForgotten(uidOf(record)),
    };
    const known = this.#restarts.get(record.id);
    if (known !== undefined && isSameFacts(known.facts, facts)) return known.mustRestart;
    const container = containerNamed(pod.spec, nameOf(record))?.container;
    // An agent that lost the allocation assumes that the pod was allocated what its spec requests.
    const allocations = [promised, ...(facts.isForgotten ? [allocationOf(pod)] : [])];
    const wanted = allocations.flatMap((each) =>
      each === undefined ? [] : (allocated(effective(each), nameOf(record)) ?? []),
    );
    const mustRestart =
      container !== undefined &&
      wanted.some((each) =>
        RESOURCES.some(
          (name) =>
            takesByRestart(container, name) &&
            (facts.has.length === 0 || facts.has.some((own) => !isSameAmount(each, own, name))),
        ),
      );
    this.#restarts.set(record.id, { facts, mustRestart });
    return mustRestart;
  }

  /** Whether the journal may have lost this pod's last allocation. */
  #isForgotten(uid = ""): boolean {
    return this.#sight.faults.concerned("memory", this.#promised.get(uid)?.sinceMs ?? 0, uid);
  }

  /** [8.4] No container is limited to less memory than it uses. */
  #checkUsage(record: ContainerRecord, before: LinuxResources | undefined): void {
    const { memoryLimitBytes = 0n } = record.resources ?? {};
    const used = record.process?.memoryBytes ?? 0n;
    if (memoryLimitBytes <= 0n || memoryLimitBytes === before?.memoryLimitBytes || used < memoryLimitBytes) return;
    this.#sight.violation(
      `[8.4] ${this.#what(record)} uses ${used} bytes, and was held to ${memoryLimitBytes} while it ran`,
    );
  }

  /** Processes a record that is new on the disk. */
  read(record: JournalRecord): void {
    if (record.kind === "allocated") this.#notePromise(record.uid, record.generation, record.allocation);
    if (record.kind === "resized") this.#checkDone(record.uid, record.generation);
    // Whatever ends the container then, such as a power loss, counts as a stop for the resize.
    if (record.kind === "restartForResize" && this.#mayStop(record.containerId)) this.#stopped.add(record.containerId);
  }

  #notePromise(uid: string, generation: number, allocation: ResourceAllocation): void {
    const before = this.#promised.get(uid);
    const carriedOut = before?.carriedOut ?? generation;
    this.#promised.set(uid, { sinceMs: this.#sight.nowMs(), allocation, generation, carriedOut, isBegun: false });
    const sinceMs = this.#sight.nowMs();
    this.#allocations.set(uid, [...(this.#allocations.get(uid) ?? []), { allocation, sinceMs }]);
    const ever = this.#ever.get(uid) ?? new Set<string>();
    for (const [name, { requests = {} }] of Object.entries(allocation.containers)) ever.add(promiseOf(name, requests));
    this.#ever.set(uid, ever);
    this.#checkRoom(uid);
  }

  /** [5.2] [8.2] The pods on the node are not allocated more than the machine has. */
  #checkRoom(uid: string): void {
    const { node, pods, violation } = this.#sight;
    const present = pods();
    if (present.some(({ metadata }) => this.#isForgotten(metadata?.uid))) return;
    // Preempted pods that exceed their grace period no longer count.
    if (present.some(({ spec }) => (spec?.priority ?? 0) >= CRITICAL)) return;
    const own = present.find(({ metadata }) => metadata?.uid === uid);
    // A pod that terminates before its admission is admitted only to terminate it.
    if (own === undefined || own.metadata?.deletionTimestamp !== undefined || isTerminal(own)) return;
    const holding = present.filter((pod) => pod === own || this.#holds(pod));
    const { cpus, memoryBytes } = node.machine.machine;
    const had = { cpu: BigInt(cpus) * 1_000n, memory: memoryBytes };
    for (const resource of RESOURCES) {
      const sum = holding.reduce((all, pod) => all + this.#requests(pod, resource), 0n);
      if (this.#requests(own, resource) > 0n && sum > had[resource])
        violation(`[8.2] ${own.metadata?.name} was promised ${resource} up to ${sum}, where there is ${had[resource]}`);
    }
  }

  /** Whether the pod has a running container: until that stops, the pod keeps its resources. */
  #holds(pod: Pod): boolean {
    if (isTerminal(pod)) return false;
    const { uid } = pod.metadata ?? {};
    return [...this.#sight.node.runtime.containers.values()].some(
      (record) => record.state === "running" && uidOf(record) === uid,
    );
  }

  #requests(pod: Pod, resource: string): bigint {
    const promised = this.#promised.get(pod.metadata?.uid ?? "");
    if (promised === undefined) return 0n;
    const quantity = podRequests(specOf(withAllocation(pod, promised.allocation)), { overhead: true }).get(resource);
    return quantity === undefined ? 0n : amountOf(resource, quantity);
  }

  /** [8.1] After a "resized" record each running container has its allocated resources. */
  #checkDone(uid: string, generation: number): void {
    const { podOf, violation } = this.#sight;
    const promised = this.#promised.get(uid);
    const pod = podOf(uid);
    if (promised === undefined) return;
    promised.carriedOut = Math.max(promised.carriedOut, generation);
    if (pod === undefined || promised.generation !== generation || this.#isForgotten(uid)) return;
    for (const record of this.#running(pod)) {
      const own = allocated(effective(promised.allocation), nameOf(record));
      if (own !== undefined) this.#requirements.set(record.id, [own]);
    }
    for (const text of this.unlike(pod, promised.allocation))
      violation(`[8.1] ${pod.metadata?.name} is said to be resized, and ${text}`);
  }

  /** Describes the running containers whose resources differ from this allocation. */
  unlike(pod: Pod, allocation: ResourceAllocation): readonly string[] {
    const wanted = effective(allocation);
    return this.#running(pod).flatMap((record) => {
      const own = allocated(wanted, nameOf(record));
      return own === undefined ? [] : unlikeIn(record, own);
    });
  }

  #running({ metadata }: Pod): readonly ContainerRecord[] {
    const { containers, sandboxes } = this.#sight.node.runtime;
    return [...containers.values()].filter(
      (record) =>
        record.state === "running" &&
        record.process?.end === undefined &&
        uidOf(record) === metadata?.uid &&
        sandboxes.get(record.sandboxId)?.state === "ready",
    );
  }

  #what(record: ContainerRecord): string {
    return `${nameOf(record)} of ${this.#sight.podOf(uidOf(record))?.metadata?.name ?? uidOf(record)}`;
  }
}

const nameOf = ({ config }: ContainerRecord): string => config.metadata.name;
const uidOf = ({ config }: ContainerRecord): string => config.labels?.["io.kubernetes.pod.uid"] ?? "";

const isTerminal = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";
const condition = ({ status }: Pod, type: string) => status?.conditions?.find((one) => one.type === type);
export const resizePending = (pod: Pod) => condition(pod, "PodResizePending");
export const resizeInProgress = (pod: Pod) => condition(pod, "PodResizeInProgress");
export const isBelowUsage = (message = ""): boolean => message.startsWith("cannot decrease memory limits");

/** As the API documents: by default a change of this resource needs no restart. */
const takesByRestart = ({ resizePolicy = [] }: Container, resource: string): boolean =>
  resizePolicy.some(
    ({ resourceName, restartPolicy }) => resourceName === resource && restartPolicy === "RestartContainer",
  );

const isSameAmount = (a: ResourceRequirements, b: ResourceRequirements, name: string): boolean =>
  (["requests", "limits"] as const).every((list) => {
    const [one, other] = [parseResourceList(a[list]).get(name), parseResourceList(b[list]).get(name)];
    return (one?.nanos ?? 0n) === (other?.nanos ?? 0n);
  });

/** A key that does not depend on how the amounts are written. */
function promiseOf(container: string, requests: Readonly<Record<string, string>>): string {
  const amounts = [...parseResourceList(requests)].map(([name, { nanos }]) => `${name}=${nanos}`);
  return `${container} ${amounts.sort().join()}`;
}

const isSame = (a: LinuxResources | undefined, b: LinuxResources | undefined): boolean =>
  a?.cpuShares === b?.cpuShares && a?.cpuQuotaUs === b?.cpuQuotaUs && a?.memoryLimitBytes === b?.memoryLimitBytes;

/** Differences in the amounts that the kernel receives. A memory request is not among them. */
function unlikeIn(record: ContainerRecord, { requests, limits }: ResourceRequirements): readonly string[] {
  const { cpuShares, cpuQuotaUs, cpuPeriodUs = DEFAULT_PERIOD_US, memoryLimitBytes } = record.resources ?? {};
  const [asked, limited] = [parseResourceList(requests), parseResourceList(limits)];
  const [request, quota, memory] = [asked.get("cpu"), limited.get("cpu"), limited.get("memory")];
  const pairs = [
    ["shares", request && sharesOf(quantityMilliValue(request)), cpuShares],
    ["us", quota && quotaUsOf(quantityMilliValue(quota), cpuPeriodUs), cpuQuotaUs],
    ["bytes", memory && quantityValue(memory), memoryLimitBytes],
  ] as const;
  return pairs
    .filter(([, wanted, has]) => wanted !== undefined && wanted !== has)
    .map(([unit, wanted, has]) => `${nameOf(record)} has ${has} ${unit}, not ${wanted}`);
}
