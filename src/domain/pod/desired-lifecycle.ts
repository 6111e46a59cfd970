/** Computes the desired state of a pod UID from all components that decide on it. */
import { isTerminal } from "../pod-status/phase.ts";
import { DEADLINE_EXCEEDED, deadlineLeftMs } from "./active-deadline.ts";
import type { AdmittedPod } from "./admitted-pod.ts";
import type { EndRequest } from "./end-request.ts";
import type { DesiredLifecycle } from "./next-lifecycle.ts";

export interface DesiredLifecycleInputs {
  readonly admitted: AdmittedPod | undefined;
  /** A component of the node requests the pod's termination. */
  readonly endRequest: EndRequest | undefined;
  /** Every source has reported: a pod that none of them has is unwanted. */
  readonly sourcesReady: boolean;
  /** A source wanted the pod at some time in this process. */
  readonly wasWanted: boolean;
  /** An earlier static pod of the same name is not finished yet. */
  readonly mustWait: boolean;
  readonly wallMs: number;
}

/** Undefined: nothing may be done about the pod yet. */
export function desiredLifecycle(inputs: DesiredLifecycleInputs): DesiredLifecycle | undefined {
  const { admitted, endRequest, sourcesReady, wasWanted, mustWait, wallMs } = inputs;
  if (admitted === undefined) {
    if (!sourcesReady) return undefined;
    return { kind: "end", why: { kind: wasWanted ? "removed" : "orphaned" } };
  }
  const { pod, verdict } = admitted;
  if (verdict.kind === "rejected") {
    return {
      kind: "end",
      why: { kind: "failed", ...verdict.rejection, message: `Pod was rejected: ${verdict.rejection.message}` },
    };
  }
  if (endRequest !== undefined) {
    const { reason, message, graceSeconds } = endRequest;
    const why = { kind: "failed", reason, message } as const;
    return { kind: "end", why, ...(graceSeconds !== undefined && { graceOverrideSeconds: graceSeconds }) };
  }
  if (pod.metadata?.deletionTimestamp !== undefined) return { kind: "end", why: { kind: "deleted" } };
  // An earlier process published a terminal phase: the pod does not run again.
  if (isTerminal(pod.status?.phase) && !admitted.isStatic) return { kind: "end", why: { kind: "completed" } };
  if (deadlineLeftMs(admitted, wallMs) === 0) return { kind: "end", why: { kind: "failed", ...DEADLINE_EXCEEDED } };
  return mustWait || verdict.kind === "deferred" ? undefined : { kind: "run" };
}
