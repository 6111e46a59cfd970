/**
 * What the probes have come to say of one container, and what that means for it. A verdict is not a result: it changes only when as many
 * results in a row as its threshold asks for say the same.
 */
import type { Container, ContainerStatus } from "../../api/gen/core-v1.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import { tellsOf } from "../pod/published.ts";
import type { PodContainer } from "../pod/runtime-view.ts";
import { hasProbe, type ProbeKind } from "./probe-spec.ts";

export type Verdict = "success" | "failure" | "unknown";

export type ProbeVerdicts = Readonly<Record<ProbeKind, Verdict>>;

/** As others find them, by container id. */
export interface ProbeResult extends ProbeVerdicts {
  readonly uid: string;
}

/** Of a container that nothing has been heard from: alive until it is shown not to be, and not ready until it is shown to be. */
export const FIRST_VERDICTS: ProbeVerdicts = { startup: "unknown", liveness: "success", readiness: "failure" };

export const sameVerdicts = (a: ProbeVerdicts, b: ProbeVerdicts): boolean =>
  a.startup === b.startup && a.liveness === b.liveness && a.readiness === b.readiness;

/** Nothing is asked any more until there is a new container: the startup probe has said its word, or liveness its last. */
export const isOnHold = (kind: ProbeKind, { startup, liveness }: ProbeVerdicts): boolean =>
  (kind === "startup" && startup !== "unknown") || (kind === "liveness" && liveness === "failure");

/** Before it has started, nobody asks whether it lives or is ready. */
export const isStarted = (container: Container, { startup }: ProbeVerdicts): boolean =>
  !hasProbe(container, "startup") || startup === "success";

/** Whether it is asked at all now: while a pod ends, only readiness is, until its containers are dead. */
export const isAsked = (
  kind: ProbeKind,
  container: Container,
  verdicts: ProbeVerdicts,
  lifecycle: PodLifecycle["kind"],
): boolean =>
  (lifecycle === "running" || (lifecycle === "terminating" && kind === "readiness")) &&
  !isOnHold(kind, verdicts) &&
  (kind === "startup" || isStarted(container, verdicts));

/** What was published of this very container by the kubelet before us, or by us: it stands until a probe says otherwise. */
export function publishedVerdicts(
  id: string,
  published: Pick<ContainerStatus, "containerID" | "ready" | "started"> | undefined,
): ProbeVerdicts | undefined {
  if (!tellsOf(published, id)) return undefined;
  return {
    startup: published.started === true ? "success" : FIRST_VERDICTS.startup,
    liveness: FIRST_VERDICTS.liveness,
    readiness: published.ready ? "success" : FIRST_VERDICTS.readiness,
  };
}

/** Without probes, running is started and ready. */
export function readyByProbes(
  container: Container,
  { state }: Pick<PodContainer, "state">,
  verdicts: ProbeVerdicts,
): { readonly ready: boolean; readonly started: boolean } {
  const started = state === "running" && isStarted(container, verdicts);
  return { started, ready: started && (!hasProbe(container, "readiness") || verdicts.readiness === "success") };
}

/** The probe for which a container is to be killed, or was. */
export function failedProbe(verdicts: ProbeVerdicts | undefined): "liveness" | "startup" | undefined {
  if (verdicts?.liveness === "failure") return "liveness";
  return verdicts?.startup === "failure" ? "startup" : undefined;
}
