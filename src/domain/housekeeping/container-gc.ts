/**
 * Selects the dead containers and sandboxes that may be removed from the runtime. Containers and sandboxes that may
 * still run are never removed, and an active pod always keeps the newest instance of each container, which decides
 * whether and when it is restarted.
 */
import { containerNameOf, instancesOf, type PodContainer, type PodRuntimeView } from "../pod/runtime-view.ts";

/**
 * `active`: containers of the pod may still be restarted. `completed`: it has ended by itself and still exists, so that
 * its last containers are kept for their logs. `removed`: it was deleted or evicted, or no source has it.
 */
export type PodStanding = "active" | "completed" | "removed";

export interface GcPod {
  readonly view: PodRuntimeView;
  readonly standing: PodStanding;
}

export interface ContainerGcPolicy {
  /** A younger container stays, even if its pod was removed. It counts for no limit. */
  readonly ageMsMin: number;
  /** Dead instances of each container that a node keeps. Negative: no limit. */
  readonly perContainerMax: number;
  /** Dead containers that the node keeps. Negative: no limit. */
  readonly nodeMax: number;
}

/** The rules of one moment. */
export interface GcRules {
  readonly policy: ContainerGcPolicy;
  readonly nowWallMs: number;
  /** Containers beyond the limits of the last round, by id. */
  readonly surplus: ReadonlySet<string>;
}

export interface GcPlan {
  /** Oldest first. */
  readonly containers: readonly PodContainer[];
  readonly sandboxIds: readonly string[];
}

/**
 * The part of a removed pod that is old enough goes. Every other pod keeps its newest sandbox and, whatever the limit
 * is, at least one exited instance of each container until the next round.
 */
export function gcPlan({ view, standing }: GcPod, rules: GcRules): GcPlan {
  const keptMin = Math.max(1, rules.policy.perContainerMax);
  const mayGo = (container: PodContainer): boolean => {
    if (standing === "removed") return isOldEnough(container, rules);
    const instances = instancesOf(view, containerNameOf(container));
    if (standing === "active" && instances[0] === container) return false;
    if (rules.surplus.has(container.id)) return true;
    if (instances[0] === container) return false;
    const exited = instances.filter(({ state }) => state === "exited");
    return container.state !== "exited" || exited.indexOf(container) >= keptMin;
  };
  const containers = view.containers.filter((container) => isDead(container) && mayGo(container)).toReversed();
  const removed = new Set(containers.map(({ id }) => id));
  const inUse = new Set(view.containers.filter(({ id }) => !removed.has(id)).map(({ sandboxId }) => sandboxId));
  const sandboxIds = view.sandboxes
    .filter(({ id, state }, index) => state === "notReady" && !inUse.has(id) && (standing === "removed" || index > 0))
    .map(({ id }) => id);
  return { containers, sandboxIds };
}

/** A dead container. The newest instance of an active pod's container is needed: it counts, but stays. */
interface Candidate {
  readonly container: PodContainer;
  readonly isNeeded: boolean;
}

/**
 * One round over all pods: the ids of containers beyond the limits. First each container keeps its newest instances. If
 * the node still has too many, every container keeps an equal number, at least one; then the oldest go first.
 */
export function surplusOf(pods: readonly GcPod[], rules: Omit<GcRules, "surplus">): ReadonlySet<string> {
  const { perContainerMax, nodeMax } = rules.policy;
  const units = pods.flatMap((pod) => (pod.standing === "removed" ? [] : candidatesOf(pod, rules)));
  const limited = perContainerMax < 0 ? units : units.map((unit) => newest(unit, perContainerMax));
  const kept = nodeMax < 0 ? limited.flat() : withinNodeMax(limited, nodeMax);
  const keptIds = new Set(kept.map(({ container }) => container.id));
  return new Set(units.flatMap((unit) => unit.map(({ container }) => container.id)).filter((id) => !keptIds.has(id)));
}

function withinNodeMax(units: readonly (readonly Candidate[])[], nodeMax: number): readonly Candidate[] {
  if (units.flat().length <= nodeMax) return units.flat();
  const share = Math.max(1, Math.floor(nodeMax / units.length));
  const left = units.flatMap((unit) => newest(unit, share));
  const oldestFirst = left
    .filter(({ isNeeded }) => !isNeeded)
    .toSorted((a, b) => (a.container.createdWallNs < b.container.createdWallNs ? -1 : 1));
  const excess = new Set(oldestFirst.slice(0, Math.max(0, left.length - nodeMax)));
  return left.filter((candidate) => !excess.has(candidate));
}

/** The dead instances of each container of a pod that has any, newest first. */
function candidatesOf({ view, standing }: GcPod, rules: Omit<GcRules, "surplus">): readonly (readonly Candidate[])[] {
  const dead = view.containers.filter((container) => isDead(container) && isOldEnough(container, rules));
  return [...Map.groupBy(dead, containerNameOf)].map(([name, instances]) => {
    const [latest] = instancesOf(view, name);
    return instances.map((container) => ({ container, isNeeded: standing === "active" && container === latest }));
  });
}

const newest = (unit: readonly Candidate[], count: number): readonly Candidate[] =>
  unit.filter(({ isNeeded }, index) => isNeeded || index < count);

const isDead = ({ state }: PodContainer) => state === "exited" || state === "created";

/** Without a minimum age the wall clock is not compared: it may have been set back since the container was created. */
const isOldEnough = ({ createdWallNs }: PodContainer, { policy, nowWallMs }: Omit<GcRules, "surplus">): boolean =>
  policy.ageMsMin <= 0 || createdWallNs <= BigInt(nowWallMs - policy.ageMsMin) * 1_000_000n;
