/**
 * What must never happen when pods are given other resources: more is promised than the machine has, somebody is held to less memory than it uses, what
 * was not done is said to be, or a promise is told that is not written down. Promises are read from the journal on the disk, deeds from the runtime.
 */
import type { Pod, ResourceRequirements } from "../src/api/gen/core-v1.ts";
import { quantityMilliValue, quantityValue } from "../src/base/quantity.ts";
import { amountOf } from "../src/domain/admission/resource-fit.ts";
import type { JournalRecord } from "../src/domain/journal/records.ts";
import { containerNamed, type RoledContainer } from "../src/domain/pod/every-container.ts";
import { effective } from "../src/domain/resize/actuation.ts";
import {
  type Allocation,
  allocated,
  allocationOf,
  resizable,
  withAllocation,
} from "../src/domain/resize/allocation.ts";
import { restartsFor } from "../src/domain/resize/decision.ts";
import { DEFAULT_PERIOD_US, quotaUsOf, sharesOf } from "../src/domain/resources/cpu-units.ts";
import { podRequests, specOf } from "../src/domain/resources/pod-resources.ts";
import { parseResourceList } from "../src/domain/resources/resource-list.ts";
import type { LinuxResources } from "../src/domain/runtime/resources.ts";
import type { ContainerRecord } from "./fake-runtime/records.ts";
import { JournalTail } from "./journal-tail.ts";
import type { SimNode } from "./sim-node.ts";

export interface ResizeSight {
  readonly node: SimNode;
  readonly podOf: (uid: string) => Pod | undefined;
  /** Those that are not gone. */
  readonly pods: () => readonly Pod[];
  readonly violation: (text: string) => void;
  /** Told of what did happen. */
  readonly note: (what: string) => void;
  /** What was written down may be lost. */
  readonly isForgetful: () => boolean;
}

interface Promised {
  allocation: Allocation;
  generation: number;
  /** Of the last that is said to be carried out. */
  carriedOut: number;
  /** Something of it has been done. */
  isBegun: boolean;
}

const CRITICAL = 2_000_000_000;
const RESOURCES = ["cpu", "memory"] as const;

export class ResizeOracle {
  readonly #sight: ResizeSight;
  readonly #journal: JournalTail;
  readonly #promised = new Map<string, Promised>();
  /** Records that were seen: they come again when a journal is compacted. */
  readonly #known = new Set<string>();
  /** By UID: all that it was ever promised, as its status may tell it. */
  readonly #ever = new Map<string, Set<string>>();
  /** By the id of a container that runs: what it was last seen to have. */
  readonly #has = new Map<string, LinuxResources | undefined>();
  /** UID and name of containers for which a change was wanted that they take by a restart. */
  readonly #restarting = new Set<string>();

  constructor(sight: ResizeSight) {
    this.#sight = sight;
    this.#journal = new JournalTail(sight.node.files.disk);
  }

  check(): void {
    this.#checkContainers();
    for (const record of this.#journal.news()) this.#read(record);
  }

  allocationOf(uid: string): Allocation | undefined {
    return this.#promised.get(uid)?.allocation;
  }

  /** A promise is half kept, or kept and not said to be. */
  get isUnderWay(): boolean {
    this.#checkContainers();
    return [...this.#promised.values()].some(
      ({ generation, carriedOut, isBegun }) => isBegun && generation > carriedOut,
    );
  }

  /** Whether it may be ended to start again with other resources: somebody has wanted that of it. */
  mayRestart(uid: string, { container }: RoledContainer): boolean {
    return this.#restarting.has(`${uid}/${container.name}`);
  }

  changed(before: Pod, after: Pod): void {
    if (before.spec !== after.spec) this.#noteWishes(before, after);
    this.#noteConditions(before, after);
    this.#checkTold(after);
  }

  #noteWishes(before: Pod, after: Pod): void {
    const [old, now] = [effective(allocationOf(before)), effective(allocationOf(after))];
    for (const container of resizable(after)) {
      const [from, to] = [allocated(old, container.name) ?? {}, allocated(now, container.name) ?? {}];
      if (RESOURCES.some((name) => restartsFor(container, name) && textOf(from, name) !== textOf(to, name)))
        this.#restarting.add(`${after.metadata?.uid ?? ""}/${container.name}`);
    }
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
    if (ever === undefined || this.#sight.isForgetful()) return;
    for (const { name, allocatedResources } of status?.containerStatuses ?? []) {
      if (allocatedResources === undefined || ever.has(promiseOf(name, allocatedResources))) continue;
      this.#sight.violation(
        `[8.1] ${metadata?.name}/${name}: told to have ${JSON.stringify(allocatedResources)}, which nobody wrote down`,
      );
    }
  }

  #checkContainers(): void {
    const { node, podOf, note } = this.#sight;
    for (const record of node.runtime.containers.values()) {
      if (record.startedWallNs === undefined) continue;
      const isKnown = this.#has.has(record.id);
      const before = this.#has.get(record.id);
      if (isKnown && before === record.resources) continue;
      this.#has.set(record.id, record.resources);
      if (!isKnown || isSame(before, record.resources)) continue;
      const promised = this.#promised.get(uidOf(record));
      if (promised !== undefined) promised.isBegun = true;
      note("a container was given other resources while it ran");
      const isSidecar = containerNamed(podOf(uidOf(record))?.spec, nameOf(record))?.role === "sidecar";
      if (isSidecar) note("a sidecar was given other resources while it ran");
      this.#checkUsage(record, before);
    }
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

  #read(record: JournalRecord): void {
    if (record.kind !== "allocated" && record.kind !== "resized") return;
    const { kind, uid, generation, wallMs } = record;
    const key = [kind, uid, generation, wallMs].join();
    if (this.#known.has(key)) return;
    this.#known.add(key);
    if (record.kind === "allocated") this.#notePromise(uid, generation, record.allocation);
    else this.#checkDone(uid, generation);
  }

  #notePromise(uid: string, generation: number, allocation: Allocation): void {
    const before = this.#promised.get(uid);
    this.#promised.set(uid, { allocation, generation, carriedOut: before?.carriedOut ?? generation, isBegun: false });
    const ever = this.#ever.get(uid) ?? new Set<string>();
    for (const [name, { requests = {} }] of Object.entries(allocation.containers)) ever.add(promiseOf(name, requests));
    this.#ever.set(uid, ever);
    this.#checkRoom(uid);
  }

  /** [5.2] [8.2] What is promised to those that are there is not more than the machine has. */
  #checkRoom(uid: string): void {
    const { node, pods, violation, isForgetful } = this.#sight;
    const present = pods();
    // Those who end for a critical one and take too long do not count any more.
    if (isForgetful() || present.some(({ spec }) => (spec?.priority ?? 0) >= CRITICAL)) return;
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
    const { podOf, violation, isForgetful } = this.#sight;
    const promised = this.#promised.get(uid);
    const pod = podOf(uid);
    if (promised === undefined) return;
    promised.carriedOut = Math.max(promised.carriedOut, generation);
    if (pod === undefined || promised.generation !== generation || isForgetful()) return;
    for (const text of this.unlike(pod, promised.allocation))
      violation(`[8.1] ${pod.metadata?.name} is said to be resized, and ${text}`);
  }

  /** Those of its containers that run with something else than this, each in words. */
  unlike(pod: Pod, allocation: Allocation): readonly string[] {
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

const textOf = ({ requests, limits }: ResourceRequirements, name: string): string =>
  `${requests?.[name] ?? ""}/${limits?.[name] ?? ""}`;

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
