/**
 * The state of a pod, folded from the records of one instance in order. It contains the state of each container, and
 * the last problems that no later success has resolved. This module writes no text; `sentence.ts` does.
 */
import { assertNever } from "../../base/assert.ts";
import type { Decision, FailedProbe } from "../journal/decisions.ts";
import type { JournalRecord } from "../journal/records.ts";
import type { ContainerRole } from "../pod/containers.ts";
import { terminationStepText } from "../pod/ending.ts";
import { causeFromText, type TerminationCause } from "../pod/pod-lifecycle.ts";
import { type Entry, partOf } from "./entry.ts";

export type Exit = Extract<JournalRecord, { kind: "exited" }>;
type Reported = Extract<JournalRecord, { kind: "told" }>;
type DecisionRecord = Extract<JournalRecord, { kind: "decision" }>;
type ActDecision = Extract<Decision, { kind: "act" }>;

export interface Trouble {
  readonly reason: string;
  readonly why: string;
  readonly sinceWallMs: number;
  /** When the problem was last reported, which need not be when it last occurred. */
  readonly lastWallMs: number;
  /** The minimum number of occurrences. */
  readonly times: number;
}

export interface ContainerHistory {
  readonly name: string;
  role: ContainerRole;
  trouble: Trouble | undefined;
  pullingSinceWallMs: number | undefined;
  /** The start of the current run; undefined: the container does not run. */
  startedWallMs: number | undefined;
  postStartSinceWallMs: number | undefined;
  preStopSinceWallMs: number | undefined;
  lastExit: Exit | undefined;
  /** The backoff before the next restart, counted from the last exit. */
  delayMs: number | undefined;
  /** The failed probe for which the container is being stopped, and the one for which its last run was stopped. */
  stoppedFor: FailedProbe | undefined;
  lastStoppedFor: FailedProbe | undefined;
  /** The last failure of each probe, by the probe's name. */
  readonly unhealthy: Map<string, Trouble>;
  verdicts: Pick<Extract<JournalRecord, { kind: "probed" }>, "startup" | "liveness" | "readiness"> | undefined;
}

export interface PodHistory {
  admission:
    | { readonly kind: "unknown" }
    | { readonly kind: "admitted" }
    | { readonly kind: "deferred"; readonly why: string; readonly sinceWallMs: number }
    | { readonly kind: "rejected"; readonly reason: string; readonly message: string; readonly wallMs: number };
  /** In the order of the spec, as far as it is known. */
  readonly containers: Map<string, ContainerHistory>;
  /** A problem of the pod as a whole. */
  trouble: Trouble | undefined;
  /** Since when a sandbox is being created. */
  sandboxSinceWallMs: number | undefined;
  /** The termination step that failed and has not succeeded since. */
  endHeldUp: { readonly text: string; readonly sinceWallMs: number } | undefined;
  preemptedFor: string | undefined;
  ending: { readonly why: TerminationCause; readonly sinceWallMs: number; readonly graceSeconds: number } | undefined;
  terminal: { readonly phase: "Succeeded" | "Failed"; readonly wallMs: number } | undefined;
  finishedWallMs: number | undefined;
  /** A problem of the node's runtime. */
  runtimeTrouble: Trouble | undefined;
}

export function foldHistory(entries: readonly Entry[]): PodHistory {
  const history: PodHistory = {
    admission: { kind: "unknown" },
    containers: new Map(),
    trouble: undefined,
    sandboxSinceWallMs: undefined,
    endHeldUp: undefined,
    preemptedFor: undefined,
    ending: undefined,
    terminal: undefined,
    finishedWallMs: undefined,
    runtimeTrouble: undefined,
  };
  for (const entry of entries) add(history, entry);
  return history;
}

function add(history: PodHistory, entry: Entry): void {
  switch (entry.kind) {
    case "admitted":
      history.admission = { kind: "admitted" };
      return;
    case "rejected": {
      const { reason, message, wallMs } = entry;
      history.admission = { kind: "rejected", reason, message, wallMs };
      return;
    }
    case "terminating": {
      const { wallMs, graceSeconds, why } = entry;
      const sinceWallMs = history.ending?.sinceWallMs ?? wallMs;
      history.ending = { sinceWallMs, graceSeconds, why: history.ending?.why ?? causeFromText(why) };
      history.trouble = undefined;
      return;
    }
    case "exited":
      return addExit(containerIn(history, entry.container), entry);
    case "restarting":
      containerIn(history, entry.container).delayMs = entry.delayMs;
      return;
    case "hook": {
      const container = containerIn(history, entry.container);
      if (entry.hook === "preStopDone") container.preStopSinceWallMs = undefined;
      else if (entry.hook === "postStartDone" && container.trouble?.reason === "FailedPostStartHook")
        container.trouble = undefined;
      if (entry.hook !== "preStopDone")
        container.postStartSinceWallMs = entry.hook === "postStartDue" ? entry.wallMs : undefined;
      return;
    }
    case "probed":
      containerIn(history, entry.container).verdicts = entry;
      return;
    case "ending": {
      const { state, step, error, wallMs } = entry;
      history.endHeldUp =
        state === "failed" ? { text: terminationStepText(step, error), sinceWallMs: wallMs } : undefined;
      return;
    }
    case "terminal":
      history.terminal ??= entry;
      return;
    case "finished":
      history.finishedWallMs ??= entry.wallMs;
      return;
    case "decision":
      return addDecision(history, entry);
    case "told":
      return addReported(history, entry);
    default:
      // Records that this version does not know, or that explain nothing.
      return;
  }
}

function addExit(container: ContainerHistory, exit: Exit): void {
  container.lastExit = exit;
  container.lastStoppedFor = container.stoppedFor;
  container.stoppedFor = undefined;
  container.startedWallMs = undefined;
  container.postStartSinceWallMs = undefined;
  container.preStopSinceWallMs = undefined;
}

function addDecision(history: PodHistory, { decision, wallMs }: DecisionRecord): void {
  switch (decision.kind) {
    case "admit":
      for (const { role, name } of decision.containers) containerIn(history, name).role = role;
      return;
    case "defer":
      history.admission = { kind: "deferred", why: decision.why, sinceWallMs: wallMs };
      return;
    case "preempt":
      history.preemptedFor = decision.why;
      return;
    case "act":
      return addAction(history, decision, wallMs);
    case "runPreStop":
      containerIn(history, decision.container).preStopSinceWallMs = wallMs;
      return;
    case "startAgent":
      // The new agent process reports these problems again if they persist.
      history.runtimeTrouble = undefined;
      if (history.trouble?.reason === "FailedSync") history.trouble = undefined;
      return;
    case "deferResize":
    // The termination that follows carries the cause.
    case "evict":
      return;
    default:
      assertNever(decision);
  }
}

function addAction(history: PodHistory, { action, probeStops }: ActDecision, wallMs: number): void {
  switch (action) {
    case "createSandbox":
      // Everything before it succeeded; whether the sandbox can be created is reported later.
      if (history.trouble?.reason !== "FailedCreatePodSandBox") history.trouble = undefined;
      history.sandboxSinceWallMs = wallMs;
      return;
    case "startContainer":
    case "startCreated":
      history.trouble = undefined;
      history.sandboxSinceWallMs = undefined;
      return;
    case "stopContainers":
      for (const { container, probe } of probeStops) containerIn(history, container).stoppedFor = probe;
      return;
    case "makeRoom":
    case "stopSandboxes":
    case "removeUnstarted":
    case "removeForRestart":
    case "resize":
    case "postStart":
      return;
    default:
      assertNever(action);
  }
}

function addReported(history: PodHistory, reported: Reported): void {
  const { uid, on, reason } = reported;
  const part = partOf(on);
  if (uid === "") {
    if (on === "runtime") history.runtimeTrouble = reason === "RuntimeReady" ? undefined : troubleOf(reported);
  } else if (part !== undefined) {
    addToContainer(containerIn(history, part.name, ROLES[part.list]), reported);
  } else if (reason === "Resumed") {
    if (history.trouble?.reason === "FailedSync") history.trouble = undefined;
  } else if (POD_TROUBLES.has(reason)) {
    history.trouble = troubleOf(reported, history.trouble);
  }
}

function addToContainer(container: ContainerHistory, reported: Reported): void {
  const { reason, why, wallMs } = reported;
  switch (reason) {
    case "Pulling":
      container.pullingSinceWallMs = wallMs;
      return;
    case "Pulled":
      container.pullingSinceWallMs = undefined;
      if (container.trouble !== undefined && isOfImage(container.trouble)) container.trouble = undefined;
      return;
    case "Started":
      // Whether a hook that failed before succeeds now is known once the hook is done.
      if (container.trouble?.reason !== "FailedPostStartHook") container.trouble = undefined;
      container.pullingSinceWallMs = undefined;
      container.startedWallMs = wallMs;
      container.verdicts = undefined;
      return;
    case "Unhealthy": {
      const probe = why.slice(0, Math.max(0, why.indexOf(" "))).toLowerCase();
      container.unhealthy.set(probe, troubleOf(reported, container.unhealthy.get(probe)));
      return;
    }
    default:
      if (!CONTAINER_TROUBLES.has(reason)) return;
      container.pullingSinceWallMs = undefined;
      container.trouble = troubleOf(reported, container.trouble);
  }
}

/** A report with a higher count continues the same problem, which keeps its start. */
function troubleOf({ reason, why, wallMs, times }: Reported, before?: Trouble): Trouble {
  const goesOn = before?.reason === reason && times > before.times;
  return { reason, why, times, lastWallMs: wallMs, sinceWallMs: goesOn ? before.sinceWallMs : wallMs };
}

/** Whether the container does not start because of its image. */
export const isOfImage = ({ reason, why }: Trouble): boolean =>
  reason === "ErrImageNeverPull" ||
  reason === "InspectFailed" ||
  (reason === "Failed" && why.startsWith("Failed to pull"));

const CONTAINER_TROUBLES: ReadonlySet<string> = new Set([
  "Failed",
  "ErrImageNeverPull",
  "InspectFailed",
  "FailedPostStartHook",
]);

const POD_TROUBLES: ReadonlySet<string> = new Set([
  "Failed",
  "FailedCreatePodContainer",
  "FailedCreatePodSandBox",
  "FailedMount",
  "FailedMapVolume",
  "FailedAttachVolume",
  "FailedSync",
  "FailedValidation",
  "NetworkNotReady",
  "VolumePermissionChangeInProgress",
]);

/** The role of a container that no admission record names, by its list. */
const ROLES: Readonly<Record<string, ContainerRole>> = {
  initContainers: "init",
  containers: "regular",
  ephemeralContainers: "ephemeral",
};

function containerIn(history: PodHistory, name: string, role: ContainerRole = "regular"): ContainerHistory {
  const known = history.containers.get(name);
  if (known !== undefined) return known;
  const fresh: ContainerHistory = {
    name,
    role,
    trouble: undefined,
    pullingSinceWallMs: undefined,
    startedWallMs: undefined,
    postStartSinceWallMs: undefined,
    preStopSinceWallMs: undefined,
    lastExit: undefined,
    delayMs: undefined,
    stoppedFor: undefined,
    lastStoppedFor: undefined,
    unhealthy: new Map(),
    verdicts: undefined,
  };
  history.containers.set(name, fresh);
  return fresh;
}
