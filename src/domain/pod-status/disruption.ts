/**
 * The condition of a pod that its node terminated early. Controllers use it to tell a disruption from a failure of the
 * pod.
 */
import type { PodCondition } from "../../api/gen/core-v1.ts";
import { END_REQUESTERS, type EndRequester } from "../pod/end-request.ts";

/** Conditions by type. Empty if the pod terminated for another reason. */
export function disruptionBy(
  verdict: { readonly reason: string; readonly message: string } | undefined,
  requesters: readonly EndRequester[] = Object.values<EndRequester>(END_REQUESTERS),
): ReadonlyMap<string, Pick<PodCondition, "status" | "reason" | "message">> {
  const requester = requesters.find(({ reason }) => reason === verdict?.reason);
  const message = requester?.disruption(verdict?.message ?? "");
  if (message === undefined) return new Map();
  return new Map([["DisruptionTarget", { status: "True", reason: "TerminationByKubelet", message }]]);
}
