/**
 * What the journal holds. Facts come first: they are read back at the next start and decide. `decision` explains: what was done to a
 * pod, or left undone, and why, in one sentence.
 */
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
      readonly what: string;
      readonly why: string;
    };
