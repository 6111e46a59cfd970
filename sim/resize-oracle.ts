/**
 * What must never happen when pods are given other resources: more is promised than the machine has, somebody is held to less memory than it uses, what
 * was not done is said to be, or a promise is told that is not written down. Promises are read from the journal on the disk, deeds from the runtime.
 */
import type { Container, Pod, ResourceRequirements } from "../src/api/gen/core-v1.ts";
import { quantityMilliValue, quantityValue } from "../src/base/quantity.ts";
import { amountOf } from "../src/domain/admission/resource-fit.ts";
import type { JournalRecord } from "../src/domain/journal/records.ts";
import { containerNamed } from "../src/domain/pod/every-container.ts";
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

export interface ResizeSight {
  readonly node: SimNode;
  readonly podOf: (uid: string) => Pod | undefined;
  /** Those that are not gone. */
  readonly pods: () => readonly Pod[];
  readonly violation: (text: string) => void;
  /** Told of what did happen. */
  readonly note: (what: string) => void;
  readonly nowMs: () => number;
  readonly faults: FaultLog;
}

interface Promised {
  readonly sinceMs: number;
  readonly allocation: ResourceAllocation;
  readonly generation: number;
  /** Of the last that is said to be carried out. */
  carriedOut: number;
  /** Something of it has been done. */
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
/** From what its pod was allocated then, at the earliest, a container is created. */
const DECIDED_MS = 15_000;
const RESOURCES = ["cpu", "memory"] as const;

export class ResizeOracle {
  readonly #sight: ResizeSight;
  readonly #promised = new Map<string, Promised>();
  /** By UID: all that it was ever promised, as its status may tell it. */
  readonly #ever = new Map<string, Set<string>>();
  /** By UID: all that it was allocated, oldest first. */
  readonly #allocations = new Map<string, { readonly allocation: ResourceAllocation; readonly sinceMs: number }[]>();
  /** By the id of a container: what it was last seen to have. */
  readonly #has = new Map<string, LinuxResources | undefined>();
  /** By the id of a container: the requirements that those resources may stand for. */
  readonly #requirements = new Map<string, readonly ResourceRequirements[]>();
  /** By the id of a container: until when it may be stopped so that it starts again with other resources. */
  readonly #mayStopUntilMs = new Map<string, number>();
  /** By the id of a container: whether it must restart, and what that was decided from. */
  readonly #restarts = new Map<string, { readonly facts: RestartFacts; readonly mustRestart: boolean }>();
  /** Ids of containers that were stopped for that. */
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

  /** A promise is half kept, or kept and not said to be. */
  get isUnderWay(): boolean {
    this.#checkContainers();
    return [...this.#promised.values()].some(
      ({ generation, carriedOut, isBegun }) => isBegun && generation > carriedOut,
    );
  }

  /**
   * Whether this container may be stopped now so that it starts again with other resources: its pod was allocated an amount that its resize
   * policy says it takes by a restart. That ends with the container, or when it was allocated what it has again. A stop that is under way then
   * goes on, after its hook.
   */
  mayStop({ id }: ContainerRecord): boolean {
    const may = this.#mayStop(id);
    if (may) this.#stopped.add(id);
    return may;
  }

  #mayStop(id: string): boolean {
    return (this.#mayStopUntilMs.get(id) ?? Number.NEGATIVE_INFINITY) >= this.#sight.nowMs();
  }

  /** Whether this container was stopped so that it starts again with other resources: that is no end of its own. */
  wasStopped(id: string): boolean {
    return this.#stopped.has(id);
  }

  changed(before: Pod, after: Pod): void {
    this.#noteConditions(before, after);
    this.#checkTold(after);
  }

  #noteConditions(before: Pod, after: Pod): void {
    const { note } = this.#sight;
    const [waited, waits] = [resizePending(before)?.reason, resizePending(after)?.reason];
    if (waits !== waited && waits === "Deferred") note("a resize waited for room");
    if (waits !== waited && waits === "Infeasible") note("a resize could never be granted");
    const isGranted = this.#promised.get(after.metadata?.uid ?? "")?.generation === after.metadata?.generation;
    if (waited === "Deferred" && waits === undefined && isGranted) note("a resize was granted after it had waited");
    const isRefused = resizeInProgress(after)?.reason === "Error" && resizeInProgress(before)?.reason !== "Error";
    if (isRefused && isBelowUsage(resizeInProgress(after)?.message)) note("a resize was refused for what is in use");
  }

  /** [8.1] What is told to be promised was written down before. */
  #checkTold({ metadata, status }: Pod): void {
    const ever = this.#ever.get(metadata?.uid ?? "");
    if (ever === undefined || this.#isForgotten(metadata?.uid)) return;
    for (const { name, allocatedResources } of status?.containerStatuses ?? []) {
      if (allocatedResources === undefined || ever.has(promiseOf(name, allocatedResources))) continue;
      this.#sight.violation(
        `[8.1] ${metadata?.name}/${name}: told to have ${JSON.stringify(allocatedResources)}, which nobody wrote down`,
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
    note("a container was given other resources while it ran");
    const isSidecar = containerNamed(podOf(uidOf(record))?.spec, nameOf(record))?.role === "sidecar";
    if (isSidecar) note("a sidecar was given other resources while it ran");
    this.#checkUsage(record, before);
  }

  /** Of the allocations that its pod had when the agent decided, those that the runtime's amounts fit. It has no amount for a memory request. */
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
    // An agent that lost the allocation takes the pod to have been allocated what its spec wants.
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

  /** The journal may have lost what this pod was allocated last. */
  #isForgotten(uid = ""): boolean {
    return this.#sight.faults.concerned("memory", this.#promised.get(uid)?.sinceMs ?? 0, uid);
  }

  /** [8.4] Nobody is held to less memory than it uses. */
  #checkUsage(record: ContainerRecord, before: LinuxResources | undefined): void {
    const { memoryLimitBytes = 0n } = record.resources ?? {};
    const used = record.process?.memoryBytes ?? 0n;
    if (memoryLimitBytes <= 0n || memoryLimitBytes === before?.memoryLimitBytes || used < memoryLimitBytes) return;
    this.#sight.violation(
      `[8.4] ${this.#what(record)} uses ${used} bytes, and was held to ${memoryLimitBytes} while it ran`,
    );
  }

  /** Reads a record that was not on the disk before. */
  read(record: JournalRecord): void {
    if (record.kind === "allocated") this.#notePromise(record.uid, record.generation, record.allocation);
    if (record.kind === "resized") this.#checkDone(record.uid, record.generation);
    // Whatever ends it then, such as a loss of power, it ends for that.
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

  /** [5.2] [8.2] What is promised to those that are there is not more than the machine has. */
  #checkRoom(uid: string): void {
    const { node, pods, violation } = this.#sight;
    const present = pods();
    if (present.some(({ metadata }) => this.#isForgotten(metadata?.uid))) return;
    // Those who end for a critical one and take too long do not count any more.
    if (present.some(({ spec }) => (spec?.priority ?? 0) >= CRITICAL)) return;
    const own = present.find(({ metadata }) => metadata?.uid === uid);
    // What ends before it was ever judged is taken in for its end alone.
    if (own === undefined || own.metadata?.deletionTimestamp !== undefined || isOver(own)) return;
    const holding = present.filter((pod) => pod === own || this.#holds(pod));
    const { cpus, memoryBytes } = node.machine.machine;
    const had = { cpu: BigInt(cpus) * 1_000n, memory: memoryBytes };
    for (const resource of RESOURCES) {
      const sum = holding.reduce((all, pod) => all + this.#requests(pod, resource), 0n);
      if (this.#requests(own, resource) > 0n && sum > had[resource])
        violation(`[8.2] ${own.metadata?.name} was promised ${resource} up to ${sum}, where there is ${had[resource]}`);
    }
  }

  /** It runs: whatever becomes of it, until it does not, its room is its own. */
  #holds(pod: Pod): boolean {
    if (isOver(pod)) return false;
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

  /** [8.1] What is said to be carried out is: each that runs has what it was promised. */
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

  /** Those of its containers that run with something else than this, each in words. */
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

const isOver = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";
const condition = ({ status }: Pod, type: string) => status?.conditions?.find((one) => one.type === type);
export const resizePending = (pod: Pod) => condition(pod, "PodResizePending");
export const resizeInProgress = (pod: Pod) => condition(pod, "PodResizeInProgress");
export const isBelowUsage = (message = ""): boolean => message.startsWith("cannot decrease memory limits");

/** As the API documents it: by default a container takes a change of this resource without a restart. */
const takesByRestart = ({ resizePolicy = [] }: Container, resource: string): boolean =>
  resizePolicy.some(
    ({ resourceName, restartPolicy }) => resourceName === resource && restartPolicy === "RestartContainer",
  );

const isSameAmount = (a: ResourceRequirements, b: ResourceRequirements, name: string): boolean =>
  (["requests", "limits"] as const).every((list) => {
    const [one, other] = [parseResourceList(a[list]).get(name), parseResourceList(b[list]).get(name)];
    return (one?.nanos ?? 0n) === (other?.nanos ?? 0n);
  });

/** However its amounts are written. */
function promiseOf(container: string, requests: Readonly<Record<string, string>>): string {
  const amounts = [...parseResourceList(requests)].map(([name, { nanos }]) => `${name}=${nanos}`);
  return `${container} ${amounts.sort().join()}`;
}

const isSame = (a: LinuxResources | undefined, b: LinuxResources | undefined): boolean =>
  a?.cpuShares === b?.cpuShares && a?.cpuQuotaUs === b?.cpuQuotaUs && a?.memoryLimitBytes === b?.memoryLimitBytes;

/** Of what the kernel is told: memory that is only requested is not. */
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
