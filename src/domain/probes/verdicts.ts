/**
 * The verdicts of the probes of one container, and what they mean for it. A verdict is not a result: it changes only
 * after as many equal results in a row as its threshold requires.
 */
import type { Container, ContainerStatus } from "../../api/gen/core-v1.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import { describesInstance } from "../pod/published-status.ts";
import type { PodContainer } from "../pod/runtime-view.ts";
import { hasProbe, type ProbeKind } from "./probe-spec.ts";

export type Verdict = "success" | "failure" | "unknown";

export type ProbeVerdicts = Readonly<Record<ProbeKind, Verdict>>;

/** The entry that other components read, by container ID. */
export interface ProbeResult extends ProbeVerdicts {
  readonly uid: string;
}

/** The verdicts of a container without results: alive until liveness fails, and not ready until readiness succeeds. */
export const FIRST_VERDICTS: ProbeVerdicts = { startup: "unknown", liveness: "success", readiness: "failure" };

export const sameVerdicts = (a: ProbeVerdicts, b: ProbeVerdicts): boolean =>
  a.startup === b.startup && a.liveness === b.liveness && a.readiness === b.readiness;

/**
 * The probe does not run again until there is a new container: the startup probe has a verdict, or liveness has failed.
 */
export const isOnHold = (kind: ProbeKind, { startup, liveness }: ProbeVerdicts): boolean =>
  (kind === "startup" && startup !== "unknown") || (kind === "liveness" && liveness === "failure");

/** Liveness and readiness probes wait until the container has started. */
export const isStarted = (container: Container, { startup }: ProbeVerdicts): boolean =>
  !hasProbe(container, "startup") || startup === "success";

/** Whether the probe runs now. While a pod terminates, only readiness does, until its containers are dead. */
export const shouldProbe = (
  kind: ProbeKind,
  container: Container,
  verdicts: ProbeVerdicts,
  lifecycle: PodLifecycle["kind"],
): boolean =>
  (lifecycle === "running" || (lifecycle === "terminating" && kind === "readiness")) &&
  !isOnHold(kind, verdicts) &&
  (kind === "startup" || isStarted(container, verdicts));

/**
 * The verdicts that this kubelet or an earlier one published for this exact container. They hold until a probe changes
 * them.
 */
export function publishedVerdicts(
  id: string,
  published: Pick<ContainerStatus, "containerID" | "ready" | "started"> | undefined,
): ProbeVerdicts | undefined {
  if (!describesInstance(published, id)) return undefined;
  return {
    startup: published.started === true ? "success" : FIRST_VERDICTS.startup,
    liveness: FIRST_VERDICTS.liveness,
    readiness: published.ready ? "success" : FIRST_VERDICTS.readiness,
  };
}

/** Without probes, a running container is started and ready. */
export function readyByProbes(
  container: Container,
  { state }: Pick<PodContainer, "state">,
  verdicts: ProbeVerdicts,
): { readonly ready: boolean; readonly started: boolean } {
  const started = state === "running" && isStarted(container, verdicts);
  return { started, ready: started && (!hasProbe(container, "readiness") || verdicts.readiness === "success") };
}

/** The probe for which a container is to be killed, or was killed. */
export function failedProbe(verdicts: ProbeVerdicts | undefined): "liveness" | "startup" | undefined {
  if (verdicts?.liveness === "failure") return "liveness";
  return verdicts?.startup === "failure" ? "startup" : undefined;
}
