/** Decides whether a container runs or restarts. */
import type { Container, ContainerRestartRule, Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import type { ContainerSpec } from "./containers.ts";
import type { PodContainer } from "./runtime-view.ts";

type RestartPolicy = "Always" | "OnFailure" | "Never";

/** Exit code of a killed container, and of a run whose exit was not observed. */
export const KILLED_EXIT_CODE = 137;

/** What is known of a container's last run. */
export type LastRun = Pick<PodContainer, "state" | "exitCode" | "reason">;

export function restartPolicyOf(pod: Pod): RestartPolicy {
  const policy = pod.spec?.restartPolicy;
  return policy === "OnFailure" || policy === "Never" ? policy : "Always";
}

/** The container's restart policy takes precedence over its pod's. */
const policyOf = (pod: Pod, { restartPolicy }: Pick<Container, "restartPolicy">): RestartPolicy =>
  restartPolicy === "Always" || restartPolicy === "OnFailure" || restartPolicy === "Never"
    ? restartPolicy
    : restartPolicyOf(pod);

/** Whether the container should run, given its last run. Undefined: it has not run yet. */
export function shouldRun(pod: Pod, { role, container }: ContainerSpec, last: LastRun | undefined): boolean {
  if (last === undefined) return true;
  switch (last.state) {
    case "running":
      return false;
    case "created":
    case "unknown":
      return role !== "ephemeral";
    case "exited":
      if (role === "ephemeral") return false;
      if (role === "init" && !hasFailed(last)) return false;
      return restartsAfter(pod, container, last.exitCode);
    default:
      return assertNever(last.state);
  }
}

/** An OOM-killed init container has failed, whatever its exit code. */
export const hasFailed = ({ exitCode, reason }: LastRun): boolean => exitCode !== 0 || reason === "OOMKilled";

/** Decides by the first restart rule that matches the exit code, else by the container's policy, else by the pod's. */
export function restartsAfter(
  pod: Pod,
  container: Pick<Container, "restartPolicy" | "restartPolicyRules">,
  exitCode: number,
): boolean {
  const rule = ruleFor(container, exitCode);
  if (rule?.action === "Restart" || rule?.action === "RestartAllContainers") return true;
  const policy = policyOf(pod, container);
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

/** Whether a successful run is the container's last. */
export const runsOnce = (pod: Pod, container: Pick<Container, "restartPolicy">): boolean =>
  policyOf(pod, container) === "OnFailure";

/**
 * The first restart rule that matches the exit code. The rules of a container without its own restart policy do not
 * apply.
 */
export function ruleFor(
  { restartPolicy, restartPolicyRules = [] }: Pick<Container, "restartPolicy" | "restartPolicyRules">,
  exitCode: number,
): ContainerRestartRule | undefined {
  if (restartPolicy === undefined) return undefined;
  return restartPolicyRules.find(({ exitCodes }) => {
    const isListed = (exitCodes?.values ?? []).includes(exitCode);
    return exitCodes !== undefined && (exitCodes.operator === "NotIn" ? !isListed : isListed);
  });
}
