/**
 * What the journal holds. Facts come first: they are read back at the next start and decide. `decision` and `told` explain: what was done to a
 * pod, or left undone, and why, in one sentence; and what became of it.
 */
import { type ContainerAllocations, isEmpty, type PodAllocation } from "../allocation/pod-allocation.ts";
import type { EndStepName } from "../pod/ending.ts";
import type { ResourceAllocation } from "../resize/allocation.ts";
import { DECISION_VERSION, type Decision } from "./decisions.ts";

export type JournalRecord =
  /** This UID was taken in, in this form. Its first sight is the pod's start time. */
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
   * What it has of the node's resources from here on: as it was taken in, and whenever it is granted what its spec has come to want.
   * `generation`: of that spec.
   */
  | {
      readonly kind: "allocated";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly generation: number;
      readonly allocation: ResourceAllocation;
      /** Absent when no container has anything for itself. */
      readonly containerAllocations?: ContainerAllocations;
    }
  /** What it was allocated with the spec of this generation is carried out. */
  | {
      readonly kind: "resized";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly generation: number;
    }
  /** A container is stopped only so that it starts again with other resources, whatever its end looks like. */
  | {
      readonly kind: "restartForResize";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly container: string;
      readonly containerId: string;
    }
  /** From here on nothing starts for this UID. `graceSeconds` only shrinks over several of these. */
  | {
      readonly kind: "terminating";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly graceSeconds: number;
      readonly why: string;
    }
  /** A container's end as the runtime told it, before anyone else is told. */
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
   * A container's hook. What is to be done upon its start is due from before it starts; what is done, at its start or before its end, is not
   * done again.
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
  /** A container is started again: how long the restart after this one will have to wait. `what`: what was run, of which this holds. */
  | {
      readonly kind: "restarting";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly container: string;
      readonly what: string;
      readonly delayMs: number;
    }
  /** How far the pod's end is: whenever another step is under way, and whenever one fails for another reason. `error`: empty where there is none. */
  | {
      readonly kind: "ending";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly step: EndStepName;
      readonly state: "begun" | "failed" | "done";
      readonly attempts: number;
      readonly error: string;
    }
  /** All containers are restarted in place, and removed before: the ends so far say nothing of what runs next. */
  | { readonly kind: "restartingAll"; readonly uid: string; readonly pod: string; readonly wallMs: number }
  /** All containers are dead and none will start again: the phase is final. */
  | {
      readonly kind: "terminal";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly phase: "Succeeded" | "Failed";
    }
  /** Nothing of this UID is left on the node. */
  | { readonly kind: "finished"; readonly uid: string; readonly pod: string; readonly wallMs: number }
  /** What a container's probes have come to say of it: whenever that changes, before anyone is told. */
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
  /** About to be mounted, for a volume of this pod: whatever becomes of us, it is known whose it is. */
  | {
      readonly kind: "mounting";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly volume: string;
      readonly path: string;
    }
  /** The UID a static pod's manifest has on this node, and the content it stands for. */
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
   * What happened to a pod, or holds it up, as its owner was told. Written when that changes and now and then while it repeats. `on`: the
   * container, such as `spec.containers{app}`, or nothing for the pod; without a UID, what part of the node.
   */
  | {
      readonly kind: "told";
      readonly uid: string;
      readonly pod: string;
      readonly wallMs: number;
      readonly on: string;
      readonly reason: string;
      readonly why: string;
      /** How often so far. */
      readonly times: number;
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

/** Nothing is decided by these. */
export const isExplanation = (record: JournalRecord): record is Extract<JournalRecord, { kind: "decision" | "told" }> =>
  record.kind === "decision" || record.kind === "told";
