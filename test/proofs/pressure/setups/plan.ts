/**
 * Setups of a shortage: the pods of a node, the one whose burst makes the node short, and the pods that are evicted for
 * it.
 */
import type { Container, PodSpec } from "../../../../src/api/gen/core-v1.ts";
import { sh } from "../../../support/cluster-pods.ts";

export interface PodPlan {
  readonly spec: Partial<PodSpec>;
  /** The memory that it uses at least. */
  readonly holdsBytes: number;
  readonly holdsProcesses?: number;
  /** From a manifest of the node. */
  readonly isStatic?: true;
  /** Has succeeded before the shortage. */
  readonly isDone?: true;
}

export interface Setup {
  readonly name: string;
  readonly pods: Readonly<Record<string, PodPlan>>;
  /** One of the pods: it uses its amount only once all others are measured. */
  readonly burst: string;
  /** In the order in which they are evicted. */
  readonly victims: readonly string[];
  /** Created while the shortage lasts, which these victims do not end. Whether the node runs the pod. */
  readonly late?: Readonly<Record<string, { readonly plan: PodPlan; readonly runs: boolean }>>;
}

export const MIB = 2 ** 20;

/** Exists on the node, in a directory that every burst mounts, once the burst may begin. */
export const SIGNAL_DIRECTORY = "/var/lib/pressure";

/** Holds that much memory until it is killed. */
const holding = (mebibytes: number): string =>
  `head -c ${mebibytes * MIB} /dev/zero | tail -c ${mebibytes * MIB} | sleep 100000 &`;

/** Ignores SIGTERM: a shell that exits with 0 would leave the pod Succeeded in the Go kubelet. */
const WAITING = "while :; do sleep 1000 & wait; done";

interface ContainerPlan extends Partial<Container> {
  readonly mebibytes: number;
  readonly request?: string;
}

export const holder = ({ mebibytes, request, ...rest }: ContainerPlan): Container => ({
  ...sh(mebibytes === 0 ? WAITING : `${holding(mebibytes)} ${WAITING}`),
  ...(request === undefined ? {} : { resources: { requests: { memory: request } } }),
  ...rest,
});

export const PRIORITIES: Readonly<Record<string, number>> = {
  "pressure-below": -10,
  "pressure-low": 1,
  "pressure-high": 1000,
};
export const BELOW = { priorityClassName: "pressure-below" } as const;
export const LOW = { priorityClassName: "pressure-low" } as const;
export const HIGH = { priorityClassName: "pressure-high" } as const;
export const NODE_CRITICAL = { priorityClassName: "system-node-critical" } as const;
export const CLUSTER_CRITICAL = { priorityClassName: "system-cluster-critical" } as const;

export const podOf = (
  containers: readonly Container[],
  holdsMebibytes: number,
  more: Partial<PodSpec> = {},
): PodPlan => ({
  holdsBytes: holdsMebibytes * MIB,
  spec: { restartPolicy: "Never", terminationGracePeriodSeconds: 1, containers, ...more },
});

export const bestEffort = (mebibytes: number, more: Partial<PodSpec> = {}): PodPlan =>
  podOf([holder({ mebibytes })], mebibytes, more);

export const burstable = (mebibytes: number, requested: number, more: Partial<PodSpec> = {}): PodPlan =>
  podOf([holder({ mebibytes, request: `${requested}Mi` })], mebibytes, more);

export const guaranteed = (mebibytes: number, limited: number, more: Partial<PodSpec> = {}): PodPlan => {
  const amounts = { cpu: "10m", memory: `${limited}Mi` };
  return podOf([holder({ mebibytes, resources: { requests: amounts, limits: amounts } })], mebibytes, more);
};

/** Keeps that many processes until it is killed. */
export const running = (processes: number, more: Partial<PodSpec> = {}): PodPlan => ({
  ...podOf([sh(`i=0; while [ $i -lt ${processes} ]; do sleep 100000 & i=$((i+1)); done; ${WAITING}`)], 0, more),
  holdsProcesses: processes,
});

/** The same pod, whose containers wait for the signal of their setup before they use anything. */
export function waitingForSignal({ spec, ...plan }: PodPlan, setup: string): PodPlan {
  const mount = { name: "signals", mountPath: "/signals" };
  const containers = (spec.containers ?? []).map(
    (container): Container => ({
      ...container,
      command: ["sh", "-c", `until [ -e /signals/${setup} ]; do sleep 1; done; ${container.command?.[2] ?? ""}`],
      volumeMounts: [...(container.volumeMounts ?? []), mount],
    }),
  );
  const volumes = [...(spec.volumes ?? []), { name: "signals", hostPath: { path: SIGNAL_DIRECTORY } }];
  return { ...plan, spec: { ...spec, containers, volumes } };
}
