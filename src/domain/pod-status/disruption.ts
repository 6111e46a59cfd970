/** The condition of a pod that its node has ended before its time: controllers tell it from a failure of the pod's own by this. */
import type { PodCondition } from "../../api/gen/core-v1.ts";
import { END_REQUESTERS, type EndRequester } from "../pod/end-request.ts";

const MESSAGES: ReadonlyMap<string, string> = new Map(
  Object.values<EndRequester>(END_REQUESTERS).map(({ reason, disruption }) => [reason, disruption]),
);

/** By type; none where the pod ended for another reason. */
export function disruptionBy(
  reason: string | undefined,
): ReadonlyMap<string, Pick<PodCondition, "status" | "reason" | "message">> {
  const message = reason === undefined ? undefined : MESSAGES.get(reason);
  if (message === undefined) return new Map();
  return new Map([["DisruptionTarget", { status: "True", reason: "TerminationByKubelet", message }]]);
}
