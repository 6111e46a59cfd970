/** Whether a container runs, again or at all. */
import type { Container, ContainerRestartRule, Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import type { RoledContainer } from "./every-container.ts";
import type { PodContainer } from "./runtime-view.ts";

type RestartPolicy = "Always" | "OnFailure" | "Never";

/** Of what was killed, and of a run whose end nobody saw. */
export const KILLED_EXIT_CODE = 137;

/** What is known of a container's last run. */
export type LastRun = Pick<PodContainer, "state" | "exitCode" | "reason">;

export function restartPolicyOf(pod: Pod): RestartPolicy {
  const policy = pod.spec?.restartPolicy;
  return policy === "OnFailure" || policy === "Never" ? policy : "Always";
}

/** Its own word goes before its pod's. */
const policyOf = (pod: Pod, { restartPolicy }: Pick<Container, "restartPolicy">): RestartPolicy =>
  restartPolicy === "Always" || restartPolicy === "OnFailure" || restartPolicy === "Never"
    ? restartPolicy
    : restartPolicyOf(pod);

/** What a container's last run means for the next one. Undefined: there was none. */
export function shouldRun(pod: Pod, { role, container }: RoledContainer, last: LastRun | undefined): boolean {
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

/** An init container that was killed for want of memory has failed, whatever it exited with. */
export const hasFailed = ({ exitCode, reason }: LastRun): boolean => exitCode !== 0 || reason === "OOMKilled";

/** By the first of its rules that names the exit code, else by its own policy, else by its pod's. */
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

/** Whether a success is its last run. */
export const runsOnce = (pod: Pod, container: Pick<Container, "restartPolicy">): boolean =>
  policyOf(pod, container) === "OnFailure";

/** The first of its rules that names the exit code. One without a policy of its own has none. */
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
