/** Whether a container runs, again or at all. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { PodContainer } from "./runtime-view.ts";

export type RestartPolicy = "Always" | "OnFailure" | "Never";

export function restartPolicyOf(pod: Pod): RestartPolicy {
  const policy = pod.spec?.restartPolicy;
  return policy === "OnFailure" || policy === "Never" ? policy : "Always";
}

/** What a container's last run means for the next one. Undefined: there was none. */
export function shouldRun(policy: RestartPolicy, last: Pick<PodContainer, "state" | "exitCode"> | undefined): boolean {
  if (last === undefined) return true;
  switch (last.state) {
    case "running":
      return false;
    case "created":
    case "unknown":
      return true;
    case "exited":
      return policy === "Always" || (policy === "OnFailure" && last.exitCode !== 0);
  }
}
