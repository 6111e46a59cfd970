/** A pod of this suite: its spec, how far it gets under any kubelet, and what the test does to it meanwhile. */
import type { Container, Pod, PodSpec } from "../../../src/api/gen/core-v1.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import { conditionOf, hasEndedWhole, isRunning, SLEEPER } from "../../support/cluster-pods.ts";

/** The first state of this kind that lasts for at least some seconds. */
interface Until {
  readonly what: string;
  readonly is: (pod: Pod) => boolean;
  /** "far": as the pod's author wants. */
  readonly comes: "far" | "short";
  /**
   * The pod continues after this state, so the numbers of its events and containers depend on timing: only their kinds
   * are compared.
   */
  readonly goesOn?: true;
}

export interface Case {
  readonly rows: readonly string[];
  readonly spec: Partial<PodSpec>;
  readonly until: Until;
  /** An event that only the Go kubelet reports, and why Deckhand does not. */
  readonly onlyGo?: { readonly event: RegExp; readonly why: string };
  /** The test deletes the pod afterwards and compares the last status before the pod was gone. */
  readonly ends?: "well" | "badly";
  /** Happens once the pod runs, before the test waits for anything. */
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

/** A container of this list waits with this reason after exactly this many restarts. */
export const waits = (
  list: "initContainerStatuses" | "containerStatuses",
  reason: string,
  restarts: number,
  comes: "far" | "short" = "short",
): Until => ({
  what: `waited with ${reason} after ${restarts} restarts`,
  is: ({ status }) =>
    status?.[list]?.some(
      ({ state, restartCount }) => state?.waiting?.reason === reason && restartCount === restarts,
    ) === true,
  comes,
  goesOn: true,
});

/** All containers run, each after this many restarts. */
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
