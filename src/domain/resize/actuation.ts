/**
 * Plans the remaining steps until a running pod has its allocated resources. Level-triggered: the plan follows from the
 * allocation and from what is known to be actuated. It therefore continues wherever an earlier kubelet process was
 * stopped.
 */
import type { Container, Pod, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { quantityMilliValue, quantityValue } from "../../base/quantity.ts";
import type { AllocationFact } from "../journal/journaled-pod.ts";
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
  /** By container name: the resources that its newest instance was created with, or that were last set on it. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  /** The allocation that the pod's cgroup was last set to. */
  readonly pod: ResourceAllocation | undefined;
  /** An earlier process was stopped during the actuation: the values of the pod's cgroup are unknown. */
  readonly isPodUnsure: boolean;
}

export const isCarriedOut = ({ allocation, actuated }: AllocationFact): boolean =>
  allocation === actuated || sameAllocation(effective(allocation), effective(actuated));

/**
 * The actuated resources at the start of a kubelet process. A container that is younger than the last allocation was
 * created with it. A process that was stopped during an actuation may have done more than it recorded: then the
 * runtime's values count. Without a record, a container has what it was allocated: a missing record never restarts or
 * updates a container.
 */
export function actuatedAtStart(fact: AllocationFact | undefined, pod: Pod, view: PodRuntimeView): Actuated {
  // Resources granted after this record are not part of it.
  const last = effective(fact?.allocation ?? allocationOf(pod));
  const done = fact === undefined ? last : effective(fact.actuated);
  const isUnderWay = fact !== undefined && !isCarriedOut(fact);
  const containers = Object.keys(last.containers).flatMap((name) => {
    const instance = newestOf(view, name);
    const isYounger =
      instance !== undefined && fact !== undefined && Number(instance.createdWallNs / 1_000_000n) >= fact.wallMs;
    const own = allocated(isYounger ? last : done, name) ?? allocated(last, name);
    if (own === undefined) return [];
    // How far another kubelet got is unknown. Comparing creation times does not help either if the clock was set in
    // between.
    const isBelieved = (isUnderWay || fact?.isForeign === true) && instance !== undefined;
    return [[name, isBelieved ? asReported(own, instance) : own] as const];
  });
  const hasGroup = view.sandboxes.length > 0;
  return { containers: new Map(containers), pod: hasGroup ? done : undefined, isPodUnsure: isUnderWay && hasGroup };
}

/** The runtime's values in place of the recorded ones, wherever the two differ for the kernel. */
function asReported(
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

/** For a pod of which nothing is known. */
export const NOTHING_ACTUATED: Actuated = { containers: new Map(), pod: undefined, isPodUnsure: false };

export interface ContainerResize {
  readonly name: string;
  readonly id: string;
  /** The new values of one resource, with the current values of the other. */
  readonly reported: ResourceRequirements;
  /** Set if the memory limit is new or lower: the memory in use must be below it. */
  readonly lowersMemoryTo?: number;
}

export interface ResizeAction {
  readonly kind: "resize";
  /** Decreases come before increases. */
  readonly memory: readonly ContainerResize[];
  readonly cpu: readonly ContainerResize[];
  /** Whether the pod's cgroup must be updated. */
  readonly pod: boolean;
}

/** Whether this instance gets its allocated resources only by restarting. */
export function mustRestart(pod: Pod, container: Container, instance: PodContainer, actuated: Actuated): boolean {
  const has = actuated.containers.get(container.name);
  if (has === undefined || instance.state !== "running" || !RESOURCES.some((name) => restartsFor(container, name))) {
    return false;
  }
  const wants = allocated(effective(allocationOf(pod)), container.name) ?? {};
  return changeOf(container, instance, wants, has) === "restart";
}

/**
 * The part of a resize that can be done while the containers run; undefined: nothing. `pod` has its allocated
 * resources.
 */
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
    // Memory goes first: its update keeps the current CPU values, and the CPU update already has the new memory values.
    const reported = resource === "memory" ? mixed({ memory: wants, cpu: has }) : mixed({ memory: wants, cpu: wants });
    const lowers = resource === "memory" && after.memory.limit > 0n && isLowered(after, before);
    const resize = { name, id, reported, ...(lowers && { lowersMemoryTo: Number(after.memory.limit) }) };
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

/** The difference of the limits or, if they are equal, of the requests. */
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

/** Memory amounts of one, CPU amounts of the other. All other resources come from `memory`. */
function mixed({ memory, cpu }: Readonly<Record<Resource, ResourceRequirements>>): ResourceRequirements {
  const list = (kind: "requests" | "limits") => {
    const { cpu: _, ...rest } = memory[kind] ?? {};
    // A missing amount is sent as an explicit zero, as the Go kubelet sends it.
    return { memory: "0", ...rest, cpu: cpu[kind]?.["cpu"] ?? "0" };
  };
  return { requests: list("requests"), limits: list("limits") };
}

/** The limits in effect for the containers: their own, or the pod's if they have none. */
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
