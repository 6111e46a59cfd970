/** A pod that this node was given, and whether it took it or cannot say yet. */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import type { Verdict } from "../admission/verdict.ts";
import type { PodResize } from "../resize/pod-resize.ts";

export interface AdmittedPod {
  readonly uid: string;
  /** With what it was allocated in place of what its spec has come to want. */
  readonly pod: Pod;
  readonly isStatic: boolean;
  readonly firstSeenWallMs: number;
  /** What stood of it when it was first seen. What is written over its status later is not ours. */
  readonly found?: PodStatus | undefined;
  readonly verdict: Verdict;
  /** Of a pod that wants, or was granted, other resources than it was taken in with. */
  readonly resize?: PodResize;
}

/** As its source has it. */
export const desiredOf = ({ pod, resize }: AdmittedPod): Pod => resize?.desired ?? pod;
