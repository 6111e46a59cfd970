/**
 * Setups of a hard shortage of memory. All pods of a node together have LIMIT_MEBIBYTES, of which
 * THRESHOLD_MEBIBYTES have to be left: a use of more than 180 MiB is a shortage. Each pod uses about 2 MiB more than
 * its containers hold.
 */
import {
  BELOW,
  bestEffort,
  burstable,
  CLUSTER_CRITICAL,
  guaranteed,
  HIGH,
  holder,
  LOW,
  MIB,
  NODE_CRITICAL,
  type PodPlan,
  podOf,
  type Setup,
} from "./plan.ts";

export const LIMIT_MEBIBYTES = 240;
export const THRESHOLD_MEBIBYTES = 60;

/** Within its request. */
const BURST = burstable(80, 85);
/** Within its request, and so large that one eviction does not end the shortage. */
const LARGE_BURST = burstable(135, 140);

const setup = (
  name: string,
  victims: readonly string[],
  pods: Readonly<Record<string, PodPlan>>,
  more: Partial<Setup> = {},
): Setup => ({ name, victims, pods: { burst: BURST, ...pods }, burst: "burst", ...more });

const asStatic = (plan: PodPlan): PodPlan => ({ ...plan, isStatic: true });
const LONG_GRACE = { terminationGracePeriodSeconds: 60 } as const;
const slowly = { preStop: { exec: { command: ["sh", "-c", "sleep 30"] } } } as const;

const QOS: readonly Setup[] = [
  setup("largest-above-request", ["a"], { a: burstable(50, 10), b: bestEffort(30), c: burstable(40, 50) }),
  setup("best-effort-above-more", ["a"], { a: bestEffort(42), b: burstable(42, 15), c: burstable(36, 50) }),
  setup("guaranteed-within", ["b"], { a: guaranteed(40, 50), b: burstable(45, 10), burst: burstable(110, 115) }),
  setup("burstable-without-memory-request", ["a"], {
    a: podOf([holder({ mebibytes: 45, resources: { requests: { cpu: "10m" } } })], 45),
    b: bestEffort(30),
    c: burstable(45, 55),
  }),
  setup("burst-above-request", ["burst"], { a: burstable(58, 65), b: burstable(58, 65), burst: bestEffort(80) }),
  setup("largest-use-within-request", ["b"], { a: burstable(60, 75), b: bestEffort(40), c: bestEffort(15) }),
];

const PRIORITY: readonly Setup[] = [
  setup("low-priority", ["a"], { a: bestEffort(36, LOW), b: bestEffort(46, HIGH), c: burstable(40, 50) }),
  setup("negative-priority", ["a"], { a: bestEffort(36, BELOW), b: bestEffort(42), c: burstable(42, 50) }),
  setup("above-request-before-priority", ["b"], {
    a: burstable(40, 45, LOW),
    b: bestEffort(40, HIGH),
    c: burstable(40, 45),
  }),
  setup("high-priority-uses-more", ["b"], { a: bestEffort(52, HIGH), b: burstable(38, 25), c: burstable(30, 40) }),
  setup("all-high-priority", ["a"], { a: bestEffort(50, HIGH), b: bestEffort(30, HIGH), c: burstable(40, 50) }),
  setup("two-burstable-priorities", ["b"], { a: burstable(44, 10, HIGH), b: burstable(40, 20), c: guaranteed(38, 48) }),
  setup("burst-of-low-priority", ["burst"], { a: bestEffort(60), b: bestEffort(60), burst: bestEffort(80, BELOW) }),
  setup("burst-of-high-priority", ["a"], { a: bestEffort(65), b: bestEffort(50), burst: bestEffort(85, HIGH) }),
];

const ROUNDS: readonly Setup[] = [
  setup("two-rounds-by-use", ["a", "b"], {
    a: bestEffort(30),
    b: bestEffort(22),
    c: burstable(25, 30),
    burst: LARGE_BURST,
  }),
  setup("two-rounds-by-priority", ["a", "b"], {
    a: bestEffort(22, BELOW),
    b: bestEffort(30),
    c: burstable(25, 30),
    burst: LARGE_BURST,
  }),
  setup("two-rounds-low-then-high", ["b", "a"], {
    a: bestEffort(30, HIGH),
    b: bestEffort(22),
    c: burstable(25, 30),
    burst: LARGE_BURST,
  }),
  setup("two-rounds-above-then-within", ["a", "b"], {
    a: bestEffort(22),
    b: burstable(26, 32, LOW),
    c: bestEffort(40, NODE_CRITICAL),
    burst: burstable(120, 126, HIGH),
  }),
];

const NEVER_EVICTED: readonly Setup[] = [
  setup("static-pod", ["b"], { a: asStatic(bestEffort(60)), b: bestEffort(38), c: burstable(25, 30) }),
  setup("static-burstable", ["b"], { a: asStatic(burstable(60, 20)), b: bestEffort(38), c: burstable(25, 32) }),
  setup("node-critical", ["b"], { a: bestEffort(60, NODE_CRITICAL), b: bestEffort(38), c: burstable(25, 30) }),
  setup("cluster-critical", ["b"], { a: bestEffort(60, CLUSTER_CRITICAL), b: bestEffort(38), c: burstable(25, 30) }),
  setup("only-critical-above-request", ["b"], {
    a: bestEffort(60, NODE_CRITICAL),
    b: burstable(45, 50),
    c: burstable(15, 33),
    burst: burstable(78, 95),
  }),
  setup(
    "nobody",
    [],
    {
      a: asStatic(bestEffort(60)),
      b: bestEffort(55, CLUSTER_CRITICAL),
      burst: bestEffort(82, NODE_CRITICAL),
    },
    {
      late: {
        "late-best-effort": { plan: bestEffort(0), runs: false },
        "late-critical": { plan: bestEffort(0, NODE_CRITICAL), runs: true },
      },
    },
  ),
];

const KINDS: readonly Setup[] = [
  setup("sum-of-containers", ["a"], {
    a: podOf(
      [holder({ mebibytes: 25, request: "10Mi" }), holder({ name: "other", mebibytes: 25, request: "10Mi" })],
      50,
    ),
    b: bestEffort(22),
    c: burstable(40, 50),
  }),
  setup("one-container-above", ["a"], {
    a: podOf(
      [holder({ mebibytes: 50, request: "10Mi" }), holder({ name: "other", mebibytes: 5, request: "15Mi" })],
      55,
    ),
    b: bestEffort(20),
    c: burstable(40, 45),
  }),
  setup("sidecar", ["a"], {
    a: podOf([holder({ mebibytes: 0 })], 42, {
      initContainers: [holder({ name: "sidecar", mebibytes: 42, restartPolicy: "Always" })],
    }),
    b: bestEffort(34),
    c: burstable(44, 50),
  }),
  setup("pod-level-requests", ["b"], {
    a: podOf([holder({ mebibytes: 45 })], 45, { resources: { requests: { memory: "52Mi" } } }),
    b: bestEffort(35),
    c: burstable(36, 42),
  }),
  setup("emptydir-in-memory", ["a"], {
    a: podOf(
      [
        {
          ...holder({ mebibytes: 0 }),
          command: ["sh", "-c", `head -c ${45 * MIB} /dev/zero > /scratch/data; while :; do sleep 1000 & wait; done`],
          volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
        },
      ],
      45,
      { volumes: [{ name: "scratch", emptyDir: { medium: "Memory" } }] },
    ),
    b: bestEffort(33),
    c: burstable(40, 50),
  }),
  setup("long-grace-period", ["a"], { a: bestEffort(50, LONG_GRACE), b: bestEffort(30), c: burstable(40, 50) }),
  setup("prestop-hook", ["a"], {
    a: podOf([holder({ mebibytes: 50, lifecycle: slowly })], 50, LONG_GRACE),
    b: bestEffort(30),
    c: burstable(40, 50),
  }),
  setup("restarted-containers", ["a"], {
    a: bestEffort(50, { restartPolicy: "Always" }),
    b: bestEffort(30),
    c: burstable(40, 50),
  }),
  setup("finished-pod", ["a"], {
    a: bestEffort(50),
    b: { ...podOf([{ ...holder({ mebibytes: 0 }), command: ["true"] }], 0, BELOW), isDone: true },
    c: burstable(60, 70),
  }),
];

export const MEMORY_SETUPS: readonly Setup[] = [...QOS, ...PRIORITY, ...ROUNDS, ...NEVER_EVICTED, ...KINDS];
