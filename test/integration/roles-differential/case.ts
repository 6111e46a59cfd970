/** What a pod of this suite is: what it is made of, how far it comes under any kubelet, and what is done to it on the way. */
import type { Container, Pod, PodSpec } from "../../../src/api/gen/core-v1.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import { conditionOf, hasEndedWhole, isRunning, SLEEPER } from "../../support/cluster-pods.ts";

/** In the words of a test that waits for it. */
interface Until {
  readonly what: string;
  readonly is: (pod: Pod) => boolean;
  /** "far": as whoever made it wants it. */
  readonly comes: "far" | "short";
  /** It never rests: how often something was told or made by then depends on the moment, and one that both told of is compared. */
  readonly isLoose?: true;
}

export interface Case {
  readonly rows: readonly string[];
  readonly spec: Partial<PodSpec>;
  readonly until: Until;
  /** Events that either agent may tell or not, as it happens to come by. */
  readonly byChance?: RegExp;
  /** Deleted then, and compared once more when it is gone. */
  readonly ends?: "well" | "badly";
  /** Done to it once it runs, before anything is waited for. */
  readonly meanwhile?: (kubectl: Cluster["kubectl"], name: string) => Promise<unknown>;
}

export type Cases = Readonly<Record<string, Case>>;

export const sleeper = (name: string, more: Partial<Container> = {}): Container => ({ ...SLEEPER, name, ...more });
export const sidecar = (name: string, more: Partial<Container> = {}): Container =>
  sleeper(name, { restartPolicy: "Always", ...more });
export const exec = (script: string) => ({ exec: { command: ["sh", "-c", script] } });

export const ran: Until = { what: "ran", is: isRunning, comes: "far" };
export const succeeded: Until = {
  what: "succeeded",
  is: (pod) => pod.status?.phase === "Succeeded" && hasEndedWhole(pod),
  comes: "far",
};
export const failed: Until = {
  what: "failed",
  is: (pod) => pod.status?.phase === "Failed" && hasEndedWhole(pod),
  comes: "short",
};

/** A container of this list waits with this reason after so many restarts, or more: a busy machine may be past the end of a wait before it tells of it. */
export const waits = (
  list: "initContainerStatuses" | "containerStatuses",
  reason: string,
  restarts: number,
  comes: "far" | "short" = "short",
): Until => ({
  what: `waited with ${reason} after ${restarts} or more`,
  is: ({ status }) =>
    status?.[list]?.some(({ state, restartCount }) => state?.waiting?.reason === reason && restartCount >= restarts) ===
    true,
  comes,
  isLoose: true,
});

/** All of it runs, each container for so many times. */
export const ranAgain = (restarts: number): Until => ({
  what: `ran after ${restarts} restarts`,
  is: (pod) => {
    const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
    return (
      isRunning(pod) &&
      conditionOf(pod, "Ready")?.status === "True" &&
      [...initContainerStatuses, ...containerStatuses].every(({ restartCount }) => restartCount === restarts)
    );
  },
  comes: "far",
});
