/**
 * What the agent decided about a pod, as the loops write it and `explain` and compaction read it.
 *
 * A decision record of version 2 contains a `Decision`. Version 1, which has no number, contained a name in `what` and
 * a text in `why`; only `upgradeDecision` reads it. The names in this module are on disk: an action of the pod worker
 * that is renamed in the code keeps its name here (`pod/action-decision.ts`).
 */
import type { RankedPod } from "../eviction/choose-victims.ts";
import type { Measurement } from "../eviction/measurement.ts";
import { type ContainerRole, isContainerRole } from "../pod/containers.ts";

export const DECISION_VERSION = 2;

const ACTION_NAMES = [
  "makeRoom",
  "stopContainers",
  "stopSandboxes",
  "removeUnstarted",
  "removeForRestart",
  "createSandbox",
  "resize",
  "startContainer",
  "startCreated",
  "postStart",
] as const;

export type ActionName = (typeof ACTION_NAMES)[number];

const isActionName = (value: unknown): value is ActionName => ACTION_NAMES.some((name) => name === value);

export type FailedProbe = "liveness" | "startup";

const isFailedProbe = (value: unknown): value is FailedProbe => value === "liveness" || value === "startup";

/** The container and the probe whose failure stops it. */
export interface ProbeStop {
  readonly container: string;
  readonly probe: FailedProbe;
}

export interface NamedContainer {
  readonly role: ContainerRole;
  readonly name: string;
}

export type Decision =
  | { readonly kind: "startAgent" }
  /** `containers`: init containers and regular containers in the order of the spec. */
  | { readonly kind: "admit"; readonly containers: readonly NamedContainer[] }
  | { readonly kind: "defer" | "deferResize" | "preempt"; readonly why: string }
  | { readonly kind: "runPreStop"; readonly container: string }
  | {
      readonly kind: "evict";
      /** The signal of the threshold, or the limit of local storage that the pod exceeds. */
      readonly signal: string;
      readonly why: string;
      /** Absent for a limit of the pod's own. */
      readonly measured?: Measurement | undefined;
      /** The pods in the order in which they would be evicted. Empty for a limit of the pod's own. */
      readonly candidates: readonly RankedPod[];
    }
  | {
      readonly kind: "act";
      readonly action: ActionName;
      /** The action's fields as JSON, or the cause of the pod's termination. */
      readonly why: string;
      /** The container that the action is about, if it is about one. */
      readonly container?: string;
      /** Not empty only for containers that stop because a probe failed. */
      readonly probeStops: readonly ProbeStop[];
    };

export function isDecision(value: unknown): value is Decision {
  const decision = fieldsOf(value);
  switch (decision["kind"]) {
    case "startAgent":
      return true;
    case "admit":
      return isListOf(decision["containers"], ({ role, name }) => isContainerRole(role) && typeof name === "string");
    case "defer":
    case "deferResize":
    case "preempt":
      return typeof decision["why"] === "string";
    case "runPreStop":
      return typeof decision["container"] === "string";
    case "evict":
      return (
        typeof decision["signal"] === "string" &&
        typeof decision["why"] === "string" &&
        (decision["measured"] === undefined || isMeasurement(fieldsOf(decision["measured"]))) &&
        isListOf(decision["candidates"], isRankedPod)
      );
    case "act":
      return (
        isActionName(decision["action"]) &&
        typeof decision["why"] === "string" &&
        (decision["container"] === undefined || typeof decision["container"] === "string") &&
        isListOf(
          decision["probeStops"],
          ({ container, probe }) => typeof container === "string" && isFailedProbe(probe),
        )
      );
    default:
      return false;
  }
}

const isMeasurement = (fields: Fields): boolean =>
  ["available", "capacity", "threshold", "computed"].every((name) => typeof fields[name] === "string");

const isRankedPod = ({ pod, priority, usage, request, exceedsRequest, evictable }: Fields): boolean =>
  typeof pod === "string" &&
  typeof priority === "number" &&
  (usage === undefined || typeof usage === "string") &&
  typeof request === "string" &&
  typeof exceedsRequest === "boolean" &&
  typeof evictable === "boolean";

/** Reads `what` and `why` of version 1. Undefined for a name that version 1 did not have. */
export function upgradeDecision(what: string, why: string): Decision | undefined {
  switch (what) {
    case "start agent":
      return { kind: "startAgent" };
    case "admit":
      return { kind: "admit", containers: containersOfVersion1(why) };
    case "defer":
    case "deferResize":
    case "preempt":
      return { kind: what, why };
    case "preStop": {
      const container = textOf(fieldsOf(parsed(why))["name"]);
      return container === undefined ? undefined : { kind: "runPreStop", container };
    }
    default: {
      if (!isActionName(what)) return undefined;
      const details = fieldsOf(parsed(why));
      const container = textOf(details["name"]);
      const about = container === undefined ? {} : { container };
      return { kind: "act", action: what, why, ...about, probeStops: probeStopsOfVersion1(details["containers"]) };
    }
  }
}

/** `why` was a JSON list of pairs of role and name. */
function containersOfVersion1(why: string): readonly NamedContainer[] {
  return listOf(parsed(why)).flatMap((pair) => {
    const [role, name] = listOf(pair);
    return isContainerRole(role) && typeof name === "string" ? [{ role, name }] : [];
  });
}

function probeStopsOfVersion1(containers: unknown): readonly ProbeStop[] {
  return listOf(containers).flatMap((each) => {
    const { name, reason } = fieldsOf(each);
    const { kind, probe } = fieldsOf(reason);
    const stops = typeof name === "string" && kind === "probeFailed" && isFailedProbe(probe);
    return stops ? [{ container: name, probe }] : [];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The cause of a termination is a sentence.
  }
}

type Fields = Readonly<Record<string, unknown>>;

const NO_FIELDS: Fields = {};
const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : NO_FIELDS;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const isListOf = (value: unknown, matches: (item: Fields) => boolean): boolean =>
  Array.isArray(value) && value.every((item) => matches(fieldsOf(item)));
