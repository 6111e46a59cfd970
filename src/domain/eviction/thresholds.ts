/**
 * Decides from the eviction thresholds and the newest measurements which pressure conditions the node has, and which
 * threshold pods are evicted for.
 *
 * A threshold counts as met while its signal is below its value. Once its grace period has passed, it stays met until
 * the minimum reclaim is available as well. Pods are evicted only for a threshold whose signal was measured since the
 * previous evaluation, so that one measurement never evicts twice.
 */
import { addQuantities, compareQuantities, formatQuantity, type Quantity, wholeQuantity } from "../../base/quantity.ts";
import type { Pressure } from "../node/conditions.ts";
import {
  type FilesystemLayout,
  NO_PRESSURE,
  nextPressure,
  type Observation,
  type Observations,
  type PressureState,
  type Signal,
} from "../node/pressure.ts";
import { type ThresholdValue, thresholdQuantity } from "../resources/node-allocatable.ts";

export interface Threshold {
  readonly signal: Signal;
  /** Met if less than this is available. */
  readonly value: ThresholdValue;
}

export interface EvictionThreshold extends Threshold {
  /** How long the threshold must be met before pods are evicted. 0: a hard threshold. */
  readonly graceMs: number;
  /** How much more than the threshold must become available before evictions stop. */
  readonly minReclaim: ThresholdValue | undefined;
}

/** The resource that pods are ranked by and that messages name. */
export type StarvedResource = "memory" | "ephemeral-storage" | "inodes" | "pids";

const RESOURCE_OF = {
  "memory.available": "memory",
  "allocatableMemory.available": "memory",
  "nodefs.available": "ephemeral-storage",
  "nodefs.inodesFree": "inodes",
  "imagefs.available": "ephemeral-storage",
  "imagefs.inodesFree": "inodes",
  "containerfs.available": "ephemeral-storage",
  "containerfs.inodesFree": "inodes",
  "pid.available": "pids",
} as const satisfies Readonly<Record<Signal, StarvedResource>>;

export const resourceOf = (signal: Signal): StarvedResource => RESOURCE_OF[signal];

export const isHard = ({ graceMs }: EvictionThreshold): boolean => graceMs === 0;

export interface ThresholdSettings {
  readonly hard: readonly Threshold[];
  readonly soft: readonly (Threshold & { readonly graceMs: number })[];
  readonly minReclaims: ReadonlyMap<Signal, ThresholdValue>;
}

/**
 * All thresholds of the settings, hard ones first. If the memory of all pods together is limited, what is left of that
 * limit has the hard threshold of the machine's memory. Thresholds of containerfs are those of the file system that
 * contains the writable layers, whatever the settings say.
 */
export function evictionThresholds(
  { hard, soft, minReclaims }: ThresholdSettings,
  { enforcesPods, layout }: { readonly enforcesPods: boolean; readonly layout: FilesystemLayout },
): readonly EvictionThreshold[] {
  const written = [...hard.map((threshold) => ({ ...threshold, graceMs: 0 })), ...soft]
    .filter(({ signal }) => !signal.startsWith("containerfs."))
    .map((threshold) => ({ ...threshold, minReclaim: minReclaims.get(threshold.signal) }));
  const memory = written.filter((threshold) => threshold.signal === "memory.available" && isHard(threshold));
  const source = containerFsOf(layout);
  return [
    ...written,
    ...(enforcesPods
      ? memory.map((threshold) => ({ ...threshold, signal: "allocatableMemory.available" as const }))
      : []),
    ...derived(written, `${source}.available`, "containerfs.available"),
    ...derived(written, `${source}.inodesFree`, "containerfs.inodesFree"),
  ];
}

const containerFsOf = (layout: FilesystemLayout) => (layout === "imagefs" ? "imagefs" : "nodefs");

const derived = (
  thresholds: readonly EvictionThreshold[],
  from: Signal,
  signal: Signal,
): readonly EvictionThreshold[] =>
  thresholds.filter((threshold) => threshold.signal === from).map((threshold) => ({ ...threshold, signal }));

/**
 * Adds the measurements of containerfs, which are those of the file system that contains the writable layers. In the
 * layout "split" they are measured: the layers need not be on nodefs.
 */
export function withContainerFs(observations: Observations, layout: FilesystemLayout): Observations {
  const source = containerFsOf(layout);
  const result = new Map(observations);
  for (const what of ["available", "inodesFree"] as const) {
    if (layout === "split" && observations.has(`containerfs.${what}`)) continue;
    const observation = observations.get(`${source}.${what}`);
    if (observation === undefined) result.delete(`containerfs.${what}`);
    else result.set(`containerfs.${what}`, observation);
  }
  return result;
}

/** What one evaluation leaves for the next. */
export interface EvictionState {
  readonly conditions: PressureState;
  /** Since when each threshold has been met in every evaluation. */
  readonly firstMetMs: ReadonlyMap<string, number>;
  /** The thresholds whose grace period had passed. */
  readonly past: readonly EvictionThreshold[];
  readonly observedMs: ReadonlyMap<Signal, number>;
}

export const NO_EVICTION_STATE: EvictionState = {
  conditions: { pressure: NO_PRESSURE, lastSeenMs: {} },
  firstMetMs: new Map(),
  past: [],
  observedMs: new Map(),
};

export interface Evaluation {
  readonly state: EvictionState;
  readonly pressure: Pressure;
  /** Met, with or without their grace period: they set the pressure. */
  readonly observed: readonly EvictionThreshold[];
  /** The thresholds to evict pods for, the most urgent first. Empty: no pod is evicted. */
  readonly met: readonly EvictionThreshold[];
}

export interface EvaluationSettings {
  readonly thresholds: readonly EvictionThreshold[];
  readonly nowMs: number;
  /** How long a condition stays true after it was last observed. */
  readonly holdMs: number;
}

/** A threshold whose signal could not be measured is not met, and its grace period starts again. */
export function evaluate(
  state: EvictionState,
  observations: Observations,
  { thresholds, nowMs, holdMs }: EvaluationSettings,
): Evaluation {
  const below = thresholds.filter((threshold) => isMet(threshold, observations));
  const unresolved = state.past.filter((threshold) => !isResolved(threshold, observations));
  const observed = distinct([...below, ...unresolved]);
  const firstMetMs = new Map(observed.map((each) => [keyOf(each), state.firstMetMs.get(keyOf(each)) ?? nowMs]));
  const signals = observed.map(({ signal }) => signal);
  const conditions = nextPressure(state.conditions, signals, { nowMs, holdMs });
  const past = observed.filter((each) => nowMs - (firstMetMs.get(keyOf(each)) ?? nowMs) >= each.graceMs);
  const observedMs = new Map([...observations].map(([signal, { atMonotonicMs }]) => [signal, atMonotonicMs]));
  const isNew = ({ signal }: EvictionThreshold) => {
    const lastMs = state.observedMs.get(signal);
    const atMs = observedMs.get(signal);
    return atMs !== undefined && (lastMs === undefined || atMs > lastMs);
  };
  return {
    state: { conditions, firstMetMs, past, observedMs },
    pressure: conditions.pressure,
    observed,
    met: byUrgency(past.filter(isNew)),
  };
}

/** Whether the signal was measured, and less is available than the threshold. */
export function isMet(threshold: Threshold, observations: Observations): boolean {
  const observation = observations.get(threshold.signal);
  return observation !== undefined && isBelow(observation, quantityOf(threshold, observation));
}

/**
 * Whether eviction for the threshold can stop: the signal was not measured, or the threshold and its minimum reclaim
 * are available. After a reclaim of containers and images no pod is evicted if all thresholds are resolved.
 */
export function isResolved(threshold: EvictionThreshold, observations: Observations): boolean {
  const observation = observations.get(threshold.signal);
  if (observation === undefined) return true;
  const quantity = quantityOf(threshold, observation);
  const { minReclaim } = threshold;
  if (minReclaim === undefined) return !isBelow(observation, quantity);
  return !isBelow(observation, addQuantities(quantity, quantityOf({ value: minReclaim }, observation)));
}

/** The amount below which the threshold is met. */
export const quantityOf = ({ value }: Pick<Threshold, "value">, { capacity }: Observation): Quantity =>
  thresholdQuantity(value, wholeQuantity(capacity, "BinarySI"));

const isBelow = ({ available }: Observation, quantity: Quantity): boolean =>
  compareQuantities(quantity, wholeQuantity(available, "BinarySI")) > 0;

/**
 * Memory first, as upstream. Upstream's order of the others changes from round to round; here hard thresholds come
 * first, then the order of the settings decides.
 */
export const byUrgency = (thresholds: readonly EvictionThreshold[]): readonly EvictionThreshold[] =>
  thresholds.toSorted((a, b) => urgency(a) - urgency(b));

const urgency = (threshold: EvictionThreshold): number =>
  (resourceOf(threshold.signal) === "memory" ? 0 : 2) + (isHard(threshold) ? 0 : 1);

const distinct = (thresholds: readonly EvictionThreshold[]): readonly EvictionThreshold[] => [
  ...new Map(thresholds.map((threshold) => [keyOf(threshold), threshold])).values(),
];

/** The minimum reclaim is the same for all thresholds of a signal. */
function keyOf({ signal, graceMs, value }: EvictionThreshold): string {
  const amount = value.kind === "amount" ? formatQuantity(value.amount) : `${value.share * 100}%`;
  return `${signal}<${amount} for ${graceMs}ms`;
}

const CLOSE_BYTES = wholeQuantity(2n ** 30n, "BinarySI");
const CLOSE_SHARE = 10n;

/** Less than 1 GiB, or a tenth of the capacity, is left above a threshold of memory. */
export const memoryIsClose = (thresholds: readonly Threshold[], observations: Observations): boolean =>
  thresholds.some((threshold) => {
    const observation = observations.get(threshold.signal);
    if (observation === undefined || resourceOf(threshold.signal) !== "memory") return false;
    const quantity = quantityOf(threshold, observation);
    const share = wholeQuantity(observation.capacity / CLOSE_SHARE, "BinarySI");
    return [CLOSE_BYTES, share].some((margin) => isBelow(observation, addQuantities(quantity, margin)));
  });
