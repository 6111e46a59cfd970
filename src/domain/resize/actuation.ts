/**
 * What is left to do until a pod that runs has what it was allocated. Level, not edge: the plan follows from what is allocated and from what is
 * known to have been carried out, so that it goes on wherever an agent before us was stopped.
 */
import type { Container, Pod, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { quantityMilliValue, quantityValue } from "../../base/quantity.ts";
import type { AllocationFact } from "../journal/facts.ts";
import { newestOf, type PodContainer, type PodRuntimeView } from "../pod/runtime-view.ts";
import { milliOfQuota, milliOfShares, quotaUsOf, sharesOf } from "../resources/cpu-units.ts";
import { isNone, parseResourceList } from "../resources/resource-list.ts";
import {
  allocated,
  allocationOf,
  type ResourceAllocation,
  resizable,
  sameAllocation,
  sameRequirements,
} from "./allocation.ts";
import { restartsFor } from "./decision.ts";

export interface Actuated {
  /** By container name: what its newest instance was made with, or was last told. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  /** What the pod's own group was last held to. */
  readonly pod: ResourceAllocation | undefined;
  /** An agent before us was in the middle of it: what the group is held to is anybody's guess. */
  readonly isPodUnsure: boolean;
}

export const isCarriedOut = ({ allocation, actuated }: AllocationFact): boolean =>
  allocation === actuated || sameAllocation(effective(allocation), effective(actuated));

/**
 * Of what there is at the start of an agent. A container that is younger than the last allocation was made with it. One before us that was in the middle
 * of it may have come further than its records: then the runtime is believed. Where there is no record, a container has what it was allocated: nobody is
 * restarted, or told anything, for want of one.
 */
export function actuatedAtStart(fact: AllocationFact | undefined, pod: Pod, view: PodRuntimeView): Actuated {
  // What it was granted since is none of that.
  const last = effective(fact?.allocation ?? allocationOf(pod));
  const done = fact === undefined ? last : effective(fact.actuated);
  const isUnderWay = fact !== undefined && !isCarriedOut(fact);
  const containers = Object.keys(last.containers).flatMap((name) => {
    const instance = newestOf(view, name);
    const isYounger =
      instance !== undefined && fact !== undefined && Number(instance.createdWallNs / 1_000_000n) >= fact.wallMs;
    const own = allocated(isYounger ? last : done, name) ?? allocated(last, name);
    if (own === undefined) return [];
    // Of what another has left nobody knows how far it came; and of two ages neither, where the calendar was set between them.
    const isBelieved = (isUnderWay || fact?.isForeign === true) && instance !== undefined;
    return [[name, isBelieved ? asTold(own, instance) : own] as const];
  });
  const hasGroup = view.sandboxes.length > 0;
  return { containers: new Map(containers), pod: hasGroup ? done : undefined, isPodUnsure: isUnderWay && hasGroup };
}

/** What the runtime says of it, in place of what is recorded, where the two are not the same to the kernel. */
function asTold(
  { requests = {}, limits = {} }: ResourceRequirements,
  { resources }: PodContainer,
): ResourceRequirements {
  const { cpuShares = 0, cpuQuotaUs = 0, cpuPeriodUs = 0, memoryLimitBytes = 0n } = resources ?? {};
  const milli = (list: typeof requests) => {
    const quantity = parseResourceList(list).get("cpu");
    return quantity === undefined ? 0n : quantityMilliValue(quantity);
  };
  const bytes = parseResourceList(limits).get("memory");
  const isOtherRequest = cpuShares > 0 && sharesOf(milli(requests)) !== cpuShares;
  const isOtherLimit = cpuQuotaUs > 0 && quotaUsOf(milli(limits), cpuPeriodUs) !== cpuQuotaUs;
  const isOtherMemory = memoryLimitBytes > 0n && (bytes === undefined || quantityValue(bytes) !== memoryLimitBytes);
  return {
    requests: { ...requests, ...(isOtherRequest && { cpu: `${milliOfShares(cpuShares)}m` }) },
    limits: {
      ...limits,
      ...(isOtherLimit && { cpu: `${milliOfQuota(cpuQuotaUs, cpuPeriodUs)}m` }),
      ...(isOtherMemory && { memory: String(memoryLimitBytes) }),
    },
  };
}

/** Of a pod that nothing is known of. */
export const NOTHING_ACTUATED: Actuated = { containers: new Map(), pod: undefined, isPodUnsure: false };

export interface ContainerResize {
  readonly name: string;
  readonly id: string;
  /** What it is told of one resource, with what it has of the other. */
  readonly told: ResourceRequirements;
  /** A limit that it did not have, or a smaller one: what it uses must be less. */
  readonly lowersMemoryTo?: number;
}

export interface ResizeAction {
  readonly kind: "resize";
  /** Those that get less before those that get more. */
  readonly memory: readonly ContainerResize[];
  readonly cpu: readonly ContainerResize[];
  /** The pod's own group is to be held to something else. */
  readonly pod: boolean;
}

/** Whether this instance takes what it was allocated only by starting again. */
export function mustRestart(pod: Pod, container: Container, instance: PodContainer, actuated: Actuated): boolean {
  const has = actuated.containers.get(container.name);
  if (has === undefined || instance.state !== "running" || !RESOURCES.some((name) => restartsFor(container, name))) {
    return false;
  }
  const wants = allocated(effective(allocationOf(pod)), container.name) ?? {};
  return changeOf(container, instance, wants, has) === "restart";
}

/** What of it can be done while its containers run; undefined: nothing. `pod`: with its allocation. */
export function planResize(
  pod: Pod,
  view: PodRuntimeView,
  sandboxId: string,
  actuated: Actuated,
): ResizeAction | undefined {
  const wanted = effective(allocationOf(pod));
  const updates = { memory: [] as Sized[], cpu: [] as Sized[] };
  for (const container of resizable(pod)) {
    const instance = newestOf(view, container.name);
    const has = actuated.containers.get(container.name);
    if (has === undefined || instance?.state !== "running" || instance.sandboxId !== sandboxId) continue;
    const change = changeOf(container, instance, allocated(wanted, container.name) ?? {}, has);
    if (change !== "restart") for (const resource of RESOURCES) updates[resource].push(...(change[resource] ?? []));
  }
  const [memory, cpu] = [lessFirst(updates.memory), lessFirst(updates.cpu)];
  const isPodDue = actuated.pod !== undefined && (actuated.isPodUnsure || !sameAllocation(wanted, actuated.pod));
  const isDue = memory.length > 0 || cpu.length > 0 || isPodDue;
  return isDue ? { kind: "resize", memory, cpu, pod: isPodDue } : undefined;
}

const RESOURCES = ["memory", "cpu"] as const;
type Resource = (typeof RESOURCES)[number];

interface Sized {
  readonly resize: ContainerResize;
  readonly isLess: boolean;
}

const lessFirst = (all: readonly Sized[]): readonly ContainerResize[] =>
  [...all.filter(({ isLess }) => isLess), ...all.filter(({ isLess }) => !isLess)].map(({ resize }) => resize);

type Change = "restart" | Partial<Record<Resource, readonly Sized[]>>;

function changeOf(
  container: Container,
  { id }: PodContainer,
  wants: ResourceRequirements,
  has: ResourceRequirements,
): Change {
  if (sameRequirements(wants, has)) return {};
  const { name } = container;
  const [after, before] = [amounts(wants), amounts(has)];
  const differs = RESOURCES.filter((resource) => firstDifference(after, before, resource) !== 0n);
  if (differs.some((resource) => restartsFor(container, resource))) return "restart";
  const change: Partial<Record<Resource, readonly Sized[]>> = {};
  for (const resource of differs) {
    // Memory goes first: with it a container keeps the CPU it has; with its CPU it has the new memory already.
    const told = resource === "memory" ? mixed({ memory: wants, cpu: has }) : mixed({ memory: wants, cpu: wants });
    const lowers = resource === "memory" && after.memory.limit > 0n && isLowered(after, before);
    const resize = { name, id, told, ...(lowers && { lowersMemoryTo: Number(after.memory.limit) }) };
    change[resource] = [{ resize, isLess: firstDifference(after, before, resource) < 0n }];
  }
  return change;
}

interface Amount {
  readonly limit: bigint;
  readonly request: bigint;
}
type Amounts = Readonly<Record<Resource, Amount>>;

const isLowered = (after: Amounts, before: Amounts) =>
  before.memory.limit === 0n || after.memory.limit < before.memory.limit;

/** Of the limit, or where that stays, of the request. */
function firstDifference(after: Amounts, before: Amounts, resource: Resource): bigint {
  const limit = after[resource].limit - before[resource].limit;
  return limit === 0n ? after[resource].request - before[resource].request : limit;
}

function amounts({ requests, limits }: ResourceRequirements): Amounts {
  const [asked, limited] = [parseResourceList(requests), parseResourceList(limits)];
  const of = (list: typeof asked, name: Resource): bigint => {
    const quantity = list.get(name);
    if (quantity === undefined) return 0n;
    return name === "cpu" ? quantityMilliValue(quantity) : quantityValue(quantity);
  };
  const both = (name: Resource): Amount => ({ limit: of(limited, name), request: of(asked, name) });
  return { memory: both("memory"), cpu: both("cpu") };
}

/** Memory of one and CPU of another; what else there is, of the one it is going to have. */
function mixed({ memory, cpu }: Readonly<Record<Resource, ResourceRequirements>>): ResourceRequirements {
  const list = (kind: "requests" | "limits") => {
    const { cpu: _, ...rest } = memory[kind] ?? {};
    // What it does not name is nothing, said as such: the Go kubelet tells it so.
    return { memory: "0", ...rest, cpu: cpu[kind]?.["cpu"] ?? "0" };
  };
  return { requests: list("requests"), limits: list("limits") };
}

/** What holds its containers: their own limits, and where they have none those of their pod. */
export const effective = ({ containers, podLevel }: ResourceAllocation): ResourceAllocation => ({
  containers: Object.fromEntries(Object.entries(containers).map(([name, own]) => [name, inherited(own, podLevel)])),
  ...(podLevel === undefined ? {} : { podLevel }),
});

function inherited(own: ResourceRequirements, podLevel: ResourceRequirements | undefined): ResourceRequirements {
  const [limits, whole] = [parseResourceList(own.limits), parseResourceList(podLevel?.limits)];
  const names = RESOURCES.filter((name) => isNone(limits, name) && !isNone(whole, name));
  if (names.length === 0) return own;
  return {
    ...own,
    limits: { ...own.limits, ...Object.fromEntries(names.map((name) => [name, podLevel?.limits?.[name] ?? ""])) },
  };
}
