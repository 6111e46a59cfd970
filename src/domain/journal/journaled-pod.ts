/**
 * What the journal contains about each UID. A repeated record changes nothing, because an append whose result
 * was lost is repeated.
 *
 * A finished UID starts over when it is admitted again. Only a static pod does so: its UID is that of its manifest.
 */
import { assertNever } from "../../base/assert.ts";
import { jsonEqual } from "../../base/json-equal.ts";
import type { ContainerAllocations } from "../allocation/pod-allocation.ts";
import { equalAllocations, type ResourceAllocation } from "../resize/allocation.ts";
import { isExplanation, type JournalRecord } from "./records.ts";

type Exited = Extract<JournalRecord, { kind: "exited" }>;
type Restarting = Extract<JournalRecord, { kind: "restarting" }>;
type EndingRecord = Extract<JournalRecord, { kind: "ending" }>;
type Hook = Extract<JournalRecord, { kind: "hook" }>;
type Probed = Extract<JournalRecord, { kind: "probed" }>;
type StaticPod = Extract<JournalRecord, { kind: "staticPod" }>;

/** A higher limit would let one crash loop fill the journal. */
const EXITS_PER_CONTAINER_MAX = 10;

export type ExitFact = Omit<Exited, "kind" | "uid" | "pod" | "container">;

type AdmissionFact =
  | { readonly kind: "admitted" }
  | { readonly kind: "rejected"; readonly reason: string; readonly message: string };

export type EndingFact = Pick<EndingRecord, "step" | "state" | "attempts" | "error">;

interface TerminatingFact {
  readonly sinceWallMs: number;
  /** The cause of the termination. */
  readonly why: string;
  /** The smallest grace period that was requested, and since when it counts. */
  readonly graceSeconds: number;
  readonly graceSinceWallMs: number;
}

/** The allocation of a pod, and the part of it that is known to be actuated. */
export interface AllocationFact {
  readonly allocation: ResourceAllocation;
  /** From the last record; absent when no container has exclusive resources. */
  readonly containerAllocations?: ContainerAllocations;
  /** The generation of the spec that the allocation was granted for. */
  readonly generation: number;
  readonly wallMs: number;
  /** The last actuated allocation; if it is `allocation` itself, nothing is left to do. */
  readonly actuated: ResourceAllocation;
  /** The allocation is not from a record of this agent: another kubelet left it. */
  readonly isForeign: boolean;
}

export interface JournaledPod {
  readonly uid: string;
  readonly pod: string;
  /** Undefined when the journal begins after the pod's admission. */
  readonly admission: AdmissionFact | undefined;
  readonly startWallMs: number | undefined;
  readonly allocated: AllocationFact | undefined;
  /** IDs of containers, by name, that were stopped to restart with other resources. */
  readonly restartsForResize: ReadonlyMap<string, string>;
  readonly terminating: TerminatingFact | undefined;
  /** By container name: the newest few, oldest first, each container ID once. */
  readonly exits: ReadonlyMap<string, readonly ExitFact[]>;
  /** The last one, by container name. */
  readonly restarts: ReadonlyMap<string, Pick<Restarting, "what" | "delayMs" | "wallMs">>;
  /**
   * IDs of containers that have not exited: those whose postStart hook is due, and those whose preStop hook is done.
   */
  readonly postStartDue: ReadonlySet<string>;
  readonly preStopDone: ReadonlySet<string>;
  /** By container name: the verdicts on its newest instance that was probed. */
  readonly probed: ReadonlyMap<string, Pick<Probed, "containerId" | "startup" | "liveness" | "readiness">>;
  /** IDs of containers whose exit does not affect the next run, because all containers were restarted after it. */
  readonly resets: ReadonlySet<string>;
  /** The last record of the progress of the pod's termination. */
  readonly ending: EndingFact | undefined;
  readonly terminalPhase: "Succeeded" | "Failed" | undefined;
  readonly finishedWallMs: number | undefined;
  /** Paths that were mounted for the pod's volumes; the values are the volumes' names. */
  readonly mounts: ReadonlyMap<string, string>;
  readonly staticPod: Pick<StaticPod, "source" | "contentHash" | "configHash"> | undefined;
}

export function foldJournaledPods(records: Iterable<JournalRecord>): ReadonlyMap<string, JournaledPod> {
  const pods = new Map<string, JournaledPod>();
  for (const record of records) {
    if (isExplanation(record)) continue;
    pods.set(record.uid, afterRecord(pods.get(record.uid) ?? nothingKnown(record), record));
  }
  return pods;
}

/** Returns the same object when the record changes nothing. */
export function afterRecord(known: JournaledPod, record: JournalRecord): JournaledPod {
  switch (record.kind) {
    case "admitted":
    case "rejected":
      return afterAdmission(known, record);
    case "allocated":
      return afterAllocated(known, record);
    case "resized":
      return afterResized(known, record);
    case "restartForResize":
      if (known.restartsForResize.get(record.container) === record.containerId) return known;
      return {
        ...known,
        restartsForResize: new Map(known.restartsForResize).set(record.container, record.containerId),
      };
    case "terminating":
      return afterTerminating(known, record);
    case "exited":
      return afterExit(known, record);
    case "restarting":
      return afterRestarting(known, record);
    case "hook":
      return afterHook(known, record);
    case "probed":
      return afterProbed(known, record);
    case "restartingAll":
      return afterRestartingAll(known);
    case "ending":
      return afterEnding(known, record);
    case "terminal":
      // The phase is final: the first one stays.
      return known.terminalPhase === undefined ? { ...known, terminalPhase: record.phase } : known;
    case "finished":
      return known.finishedWallMs === undefined ? { ...known, finishedWallMs: record.wallMs } : known;
    case "mounting":
      if (known.mounts.get(record.path) === record.volume) return known;
      return { ...known, mounts: new Map(known.mounts).set(record.path, record.volume) };
    case "staticPod":
      return afterStaticPod(known, record);
    case "decision":
    case "told":
    case "nodeState":
      return known;
    default:
      return assertNever(record);
  }
}

export const nothingKnown = ({ uid, pod }: { readonly uid: string; readonly pod: string }): JournaledPod => ({
  uid,
  pod,
  admission: undefined,
  startWallMs: undefined,
  allocated: undefined,
  restartsForResize: new Map(),
  terminating: undefined,
  exits: new Map(),
  restarts: new Map(),
  postStartDue: new Set(),
  preStopDone: new Set(),
  probed: new Map(),
  resets: new Set(),
  ending: undefined,
  terminalPhase: undefined,
  finishedWallMs: undefined,
  mounts: new Map(),
  staticPod: undefined,
});

function afterAdmission(
  known: JournaledPod,
  record: Extract<JournalRecord, { kind: "admitted" | "rejected" }>,
): JournaledPod {
  const life = known.finishedWallMs === undefined ? known : { ...nothingKnown(known), staticPod: known.staticPod };
  const startWallMs = life.startWallMs ?? record.wallMs;
  if (record.kind === "admitted") {
    return life.admission === undefined ? { ...life, startWallMs, admission: { kind: "admitted" } } : life;
  }
  if (life.admission?.kind === "rejected") return life;
  const { reason, message } = record;
  return { ...life, startWallMs, admission: { kind: "rejected", reason, message } };
}

function afterAllocated(
  known: JournaledPod,
  { allocation, containerAllocations, generation, wallMs }: Extract<JournalRecord, { kind: "allocated" }>,
): JournaledPod {
  const before = known.allocated;
  const isSame = before !== undefined && equalAllocations(before.allocation, allocation);
  const hasSameContainers = jsonEqual(before?.containerAllocations, containerAllocations);
  if (isSame && hasSameContainers && before.generation === generation) return known;
  const isActuated = isSame && before.actuated === before.allocation;
  const actuated = isActuated ? allocation : (before?.actuated ?? allocation);
  const containers = containerAllocations === undefined ? {} : { containerAllocations };
  return { ...known, allocated: { allocation, ...containers, generation, wallMs, actuated, isForeign: false } };
}

function afterResized(known: JournaledPod, { generation }: Extract<JournalRecord, { kind: "resized" }>): JournaledPod {
  const { allocated } = known;
  if (allocated === undefined || allocated.generation !== generation) return known;
  if (allocated.actuated === allocated.allocation) return known;
  return { ...known, allocated: { ...allocated, actuated: allocated.allocation } };
}

function afterTerminating(known: JournaledPod, record: Extract<JournalRecord, { kind: "terminating" }>): JournaledPod {
  const before = known.terminating;
  if (before !== undefined && before.graceSeconds <= record.graceSeconds) return known;
  const terminating = {
    sinceWallMs: before?.sinceWallMs ?? record.wallMs,
    why: before?.why ?? record.why,
    graceSeconds: record.graceSeconds,
    graceSinceWallMs: record.wallMs,
  };
  return { ...known, terminating };
}

const idsOf = (exits: JournaledPod["exits"]): readonly string[] =>
  [...exits.values()].flatMap((ofOne) => ofOne.map(({ containerId }) => containerId));

function afterRestartingAll(known: JournaledPod): JournaledPod {
  const ids = idsOf(known.exits);
  return ids.every((id) => known.resets.has(id)) ? known : { ...known, resets: new Set(ids) };
}

function afterEnding(known: JournaledPod, { step, state, attempts, error }: EndingRecord): JournaledPod {
  const before = known.ending;
  if (before?.step === step && before.state === state && before.error === error) return known;
  return { ...known, ending: { step, state, attempts, error } };
}

function afterExit(known: JournaledPod, record: Exited): JournaledPod {
  const before = known.exits.get(record.container) ?? [];
  if (before.some((exit) => exit.containerId === record.containerId)) return known;
  const { kind: _kind, uid: _uid, pod: _pod, container, ...exit } = record;
  const exits = new Map(known.exits).set(container, [...before, exit].slice(-EXITS_PER_CONTAINER_MAX));
  return {
    ...known,
    exits,
    resets: known.resets.size === 0 ? known.resets : new Set(idsOf(exits).filter((id) => known.resets.has(id))),
    postStartDue: without(known.postStartDue, record.containerId),
    preStopDone: without(known.preStopDone, record.containerId),
  };
}

function afterRestarting(known: JournaledPod, { container, what, delayMs, wallMs }: Restarting): JournaledPod {
  const before = known.restarts.get(container);
  if (before?.what === what && before.delayMs === delayMs && before.wallMs === wallMs) return known;
  return { ...known, restarts: new Map(known.restarts).set(container, { what, delayMs, wallMs }) };
}

function afterHook(known: JournaledPod, { hook, containerId }: Hook): JournaledPod {
  const { postStartDue, preStopDone } = known;
  switch (hook) {
    case "postStartDue":
      return postStartDue.has(containerId) ? known : { ...known, postStartDue: new Set(postStartDue).add(containerId) };
    case "postStartDone":
      return postStartDue.has(containerId) ? { ...known, postStartDue: without(postStartDue, containerId) } : known;
    case "preStopDone":
      return preStopDone.has(containerId) ? known : { ...known, preStopDone: new Set(preStopDone).add(containerId) };
    default:
      return assertNever(hook);
  }
}

function without(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  if (!ids.has(id)) return ids;
  const rest = new Set(ids);
  rest.delete(id);
  return rest;
}

function afterProbed(known: JournaledPod, record: Probed): JournaledPod {
  const { container, containerId, startup, liveness, readiness } = record;
  const before = known.probed.get(container);
  const isSame =
    before?.containerId === containerId &&
    before.startup === startup &&
    before.liveness === liveness &&
    before.readiness === readiness;
  if (isSame) return known;
  return { ...known, probed: new Map(known.probed).set(container, { containerId, startup, liveness, readiness }) };
}

function afterStaticPod(known: JournaledPod, record: StaticPod): JournaledPod {
  const { source, contentHash, configHash } = record;
  const before = known.staticPod;
  if (before?.source === source && before.contentHash === contentHash && before.configHash === configHash) return known;
  return { ...known, staticPod: { source, contentHash, configHash } };
}

/** Whether this UID is finished for good. Only a static pod whose manifest was removed may start over. */
export const isFinishedForGood = ({ finishedWallMs, terminating }: JournaledPod, isStatic: boolean): boolean =>
  finishedWallMs !== undefined && !(isStatic && terminating?.why === "removed");
