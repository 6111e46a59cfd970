/**
 * The records of the journal. Facts are read back at the next start and determine what the agent does. Records of
 * decisions, events and node states only explain: what the agent did with a pod or did not do, why, in one sentence,
 * and what happened then.
 */
import { type ContainerAllocations, isEmpty, type PodAllocation } from "../allocation/pod-allocation.ts";
import type { TerminationStepName } from "../pod/ending.ts";
import type { ResourceAllocation } from "../resize/allocation.ts";
import { DECISION_VERSION, type Decision } from "./decisions.ts";

export type JournalRecord =
  /** This UID was admitted. The time of its first record is the pod's start time. */
  | { readonly kind: "admitted"; readonly uid: string; readonly pod: string; readonly wallMs: number }
  | {
      readonly kind: "rejected";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly reason: string;
      readonly message: string;
    }
  /**
   * The node's resources that the pod has from here on: as admitted, and after each resize that is granted.
   * `generation` is that of the spec.
   */
  | {
      readonly kind: "allocated";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly generation: number;
      readonly allocation: ResourceAllocation;
      /** Absent when no container has exclusive resources. */
      readonly containerAllocations?: ContainerAllocations;
    }
  /** The allocation for the spec of this generation is actuated. */
  | {
      readonly kind: "resized";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly generation: number;
    }
  /** A container is stopped only to restart it with other resources, whatever its exit looks like. */
  | {
      readonly kind: "restartForResize";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly container: string;
      readonly containerId: string;
    }
  /** From here on nothing starts for this UID. `graceSeconds` only decreases over several of these records. */
  | {
      readonly kind: "terminating";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly graceSeconds: number;
      readonly why: string;
    }
  /** A container's exit as the runtime reported it, written before anything else learns of it. */
  | {
      readonly kind: "exited";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly container: string;
      readonly containerId: string;
      readonly exitCode: number;
      readonly reason: string;
      readonly startedWallNs: string;
      readonly finishedWallNs: string;
      readonly restartCount: number;
    }
  /**
   * A container's hook. A postStart hook is due from before the container starts. A hook that is done, postStart or
   * preStop, does not run again.
   */
  | {
      readonly kind: "hook";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly container: string;
      readonly containerId: string;
      readonly hook: "postStartDue" | "postStartDone" | "preStopDone";
    }
  /**
   * A container is restarted: `delayMs` is the backoff of the restart after this one. `what`: what was run, to which
   * the backoff applies.
   */
  | {
      readonly kind: "restarting";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly container: string;
      readonly what: string;
      readonly delayMs: number;
    }
  /**
   * The progress of the pod's termination: written when another step begins, and when a step fails for another reason.
   * `error`: empty if there is none.
   */
  | {
      readonly kind: "ending";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly step: TerminationStepName;
      readonly state: "begun" | "failed" | "done";
      readonly attempts: number;
      readonly error: string;
    }
  /** All containers are removed and restarted in place: exits so far do not affect what runs next. */
  | { readonly kind: "restartingAll"; readonly uid: string; readonly pod: string; readonly wallMs: number }
  /** All containers have terminated and none will start again: the phase is final. */
  | {
      readonly kind: "terminal";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly phase: "Succeeded" | "Failed";
    }
  /** Nothing of this UID is left on the node. */
  | { readonly kind: "finished"; readonly uid: string; readonly pod: string; readonly wallMs: number }
  /** The verdicts of a container's probes: written whenever they change, before they are published. */
  | {
      readonly kind: "probed";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly container: string;
      readonly containerId: string;
      readonly startup: "success" | "failure" | "unknown";
      readonly liveness: "success" | "failure" | "unknown";
      readonly readiness: "success" | "failure" | "unknown";
    }
  /** About to be mounted, for a volume of this pod: even after a crash it is known to which pod the mount belongs. */
  | {
      readonly kind: "mounting";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly volume: string;
      readonly path: string;
    }
  /** The UID of a static pod's manifest on this node, and the content that it stands for. */
  | {
      readonly kind: "staticPod";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly source: string;
      readonly contentHash: string;
      readonly configHash: string;
    }
  | {
      readonly kind: "decision";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly version: typeof DECISION_VERSION;
      readonly decision: Decision;
    }
  /**
   * What happened to a pod, or blocks it, as an event reported it. Written when that changes, and occasionally while it
   * repeats. `on`: the container, such as `spec.containers{app}`, or a volume, or empty for the pod; without a UID, the
   * part of the node.
   */
  | {
      readonly kind: "told";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly on: string;
      readonly reason: string;
      readonly why: string;
      /** The number of occurrences so far. */
      readonly times: number;
    }
  /**
   * A state of the node, which explains no pod. `subject`: `condition/<type>`, whose `state` is the condition's status,
   * or `wait/<what>`, whose `state` is "waiting" or "ended". `uid` and `pod` are empty.
   */
  | {
      readonly kind: "nodeState";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly subject: string;
      readonly state: string;
      readonly sinceWallMs: number;
      readonly reason: string;
      readonly why: string;
    };

type AllocatedRecord = Extract<JournalRecord, { kind: "allocated" }>;

export const allocatedRecord = (
  named: Pick<AllocatedRecord, "uid" | "pod" | "wallMs">,
  generation: number,
  { resources, containers }: PodAllocation,
): AllocatedRecord => ({
  kind: "allocated",
  ...named,
  generation,
  allocation: resources,
  ...(!isEmpty(containers) && { containerAllocations: containers }),
});

type DecisionRecord = Extract<JournalRecord, { kind: "decision" }>;

export const decisionRecord = (
  { uid, pod, wallMs }: Pick<DecisionRecord, "uid" | "pod" | "wallMs">,
  decision: Decision,
): DecisionRecord => ({ kind: "decision", uid, pod, wallMs, version: DECISION_VERSION, decision });

/** Nothing is decided by these records. */
export const isExplanation = (
  record: JournalRecord,
): record is Extract<JournalRecord, { kind: "decision" | "told" | "nodeState" }> =>
  record.kind === "decision" || record.kind === "told" || record.kind === "nodeState";
