/**
 * Scenarios of a node that is short of a resource, or whose pods exceed their limits of local storage: the pods that
 * must be evicted end as Failed with one message, and all others run on.
 */
import type { Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import type { KnownThreshold } from "../eviction-oracle.ts";
import type { Use } from "../fake-runtime/behaviour.ts";
import { kubeletWith } from "../kubelet.ts";
import { makeSmall } from "../small-node.ts";
import { app, execHook, exits, manifestOf, pod, SERVER } from "../workload/pod.ts";
import { install } from "../world-files.ts";
import { all, endedWith, isRunning, startsAre, staticRuns } from "./ends.ts";
import type { Scenario, Stage } from "./scenario.ts";
import { deadAre } from "./with-dead-containers.ts";

const MIB = 2 ** 20;
const CRITICAL = 2_000_000_000;
const LOW_ON = "The node was low on resource: ";
/** Of images alone, so that the removal of images for its own thresholds does not interfere. */
const EVICTION_ONLY = "--image-gc-high-threshold=100";
const NO_DISK_THRESHOLDS = "memory.available<100Mi";

const MEMORY_THRESHOLD: KnownThreshold = { resource: "memory", amount: 100 * MIB, graceMs: 0 };

/** A container that uses this much, from this age on. */
const using = (use: Partial<Use>, fromMs = 1_000) => app({ ...SERVER, uses: [{ fromMs, ...use }] });

/** Requests memory, so that the shortage does not reject it. */
const burstable = (name: string, use: Partial<Use>, { fromMs = 1_000, ...spec }: Partial<PodSpec> & Late = {}): Pod => {
  const [container] = using(use, fromMs).containers;
  const containers = container === undefined ? [] : [{ ...container, resources: { requests: { memory: "1Mi" } } }];
  return pod(name, { containers, ...spec });
};

interface Late {
  readonly fromMs?: number;
}

/** Leaves this much of the machine's memory to the containers. */
const leave =
  (freeMemoryBytes: number, thresholds: readonly KnownThreshold[] = [MEMORY_THRESHOLD]) =>
  ({ node, oracle }: Stage): void => {
    makeSmall(node, { freeMemoryBytes });
    oracle.evictions.thresholds = thresholds;
  };

const isEvicted =
  (name: string, message: string) =>
  ({ pod: find }: Stage): readonly string[] => {
    const { phase, reason, message: said = "" } = find(name)?.status ?? {};
    return phase === "Failed" && reason === "Evicted" && said.startsWith(message)
      ? []
      : [`${name} is ${phase} for ${reason}: ${said}`];
  };

const runOn = (...names: readonly string[]) => all(...names.flatMap((name) => [isRunning(name), startsAre(name, 1)]));

const hasImages =
  (...names: readonly string[]) =>
  ({ node: { runtime } }: Stage): readonly string[] => {
    const found = runtime.images
      .list()
      .flatMap(({ tags }) => tags.map((tag) => tag.replace(/^docker.io\/library\//, "")));
    const wanted = names.map((name) => `${name}:latest`).join();
    const present = found
      .filter((tag) => !tag.includes("pause"))
      .toSorted()
      .join();
    return present === wanted ? [] : [`the images are ${present}, not ${wanted}`];
  };

const memory: Scenario = {
  name: "eviction for memory",
  agent: kubeletWith(`--eviction-hard=${NO_DISK_THRESHOLDS}`),
  before: leave(900 * MIB),
  steps: [
    [
      2_000,
      ({ writeManifest }) => writeManifest("a.json", manifestOf(pod("static", using({ memoryBytes: 300 * MIB })))),
    ],
    [2_001, ({ create }) => void create(burstable("critical", { memoryBytes: 300 * MIB }, { priority: CRITICAL }))],
    [2_002, ({ create }) => void create(burstable("modest", { memoryBytes: 60 * MIB }))],
    [2_003, ({ create }) => void create(burstable("greedy", { memoryBytes: 200 * MIB }, { fromMs: 3_000 }))],
  ],
  lastsMs: 20_000,
  wrong: all(
    isEvicted("greedy", `${LOW_ON}memory. `),
    startsAre("greedy", 1),
    runOn("critical", "modest"),
    staticRuns(true),
  ),
};

const nothingToEvict: Scenario = {
  name: "memory stays short and no pod may be evicted",
  agent: kubeletWith(`--eviction-hard=${NO_DISK_THRESHOLDS}`),
  before: leave(50 * MIB),
  steps: [
    [4_000, ({ create }) => void create(pod("critical", { ...using({ memoryBytes: MIB }), priority: CRITICAL }))],
    [8_000, ({ create }) => void create(pod("late"))],
  ],
  lastsMs: 22_000,
  wrong: all(runOn("critical"), startsAre("late", 0), isEvicted("late", "Pod was rejected: ")),
};

const hooked = burstable("hooked", { memoryBytes: 200 * MIB }, { terminationGracePeriodSeconds: 60, fromMs: 3_000 });

const soft: Scenario = {
  name: "eviction for a soft threshold of a pod with a hook and a long grace period",
  agent: kubeletWith(
    "--eviction-hard=memory.available<1Mi",
    "--eviction-soft=memory.available<100Mi",
    "--eviction-soft-grace-period=memory.available=6s",
    "--eviction-max-pod-grace-period=8",
  ),
  before: leave(300 * MIB, [
    { resource: "memory", amount: MIB, graceMs: 0 },
    { resource: "memory", amount: 100 * MIB, graceMs: 6_000 },
  ]),
  steps: [
    [
      2_000,
      ({ create }) =>
        void create({
          ...hooked,
          spec: {
            ...hooked.spec,
            containers: (hooked.spec?.containers ?? []).map((each) => ({
              ...each,
              lifecycle: { preStop: execHook(exits(3_000, 0)) },
            })),
          },
        }),
    ],
    [2_001, ({ create }) => void create(burstable("modest", { memoryBytes: 60 * MIB }))],
  ],
  lastsMs: 32_000,
  wrong: all(isEvicted("hooked", `${LOW_ON}memory. `), startsAre("hooked", 1), runOn("modest")),
};

const hardHook: Scenario = {
  name: "eviction for a hard threshold of a pod with a hook and a long grace period",
  agent: kubeletWith(`--eviction-hard=${NO_DISK_THRESHOLDS}`),
  before: leave(300 * MIB),
  steps: soft.steps,
  lastsMs: 20_000,
  wrong: soft.wrong,
};

const processes: Scenario = {
  name: "eviction for process IDs",
  agent: kubeletWith("--eviction-hard=pid.available<1000"),
  before: ({ node, oracle }) => {
    makeSmall(node, { freeProcessIds: 1_500 });
    oracle.evictions.thresholds = [{ resource: "pids", amount: 1_000, graceMs: 0 }];
  },
  steps: [
    [2_000, ({ create }) => void create(pod("modest", using({ children: 100 })))],
    [2_001, ({ create }) => void create(pod("forks", using({ children: 700 }, 3_000)))],
  ],
  lastsMs: 40_000,
  wrong: all(isEvicted("forks", `${LOW_ON}pids. `), startsAre("forks", 1), runOn("modest")),
};

const DISK_FLAGS = [
  EVICTION_ONLY,
  "--minimum-image-ttl-duration=0s",
  "--eviction-hard=nodefs.available<20Mi,imagefs.available<20Mi",
];

const withUnusedImages = (stage: Stage) => {
  makeSmall(stage.node, { diskBytes: 200 * MIB, unusedImages: 2 });
  stage.oracle.evictions.thresholds = [{ resource: "disk", amount: 20 * MIB, graceMs: 0 }];
};

/** An agent that is killed after it removed one image finds enough space, and need not remove the other. */
const someImageIsGone = ({ node: { runtime } }: Stage): readonly string[] =>
  runtime.images.list().filter(({ tags }) => tags.some((tag) => tag.includes("unused"))).length < 2
    ? []
    : ["no unused image was removed"];

const diskReclaimed: Scenario = {
  name: "shortage of disk that ends when unused images are removed",
  agent: kubeletWith(...DISK_FLAGS),
  before: withUnusedImages,
  steps: [
    [2_000, ({ create }) => void create(pod("modest", using({ layerBytes: 30 * MIB })))],
    [2_001, ({ create }) => void create(pod("writes", using({ layerBytes: 110 * MIB }, 3_000)))],
  ],
  lastsMs: 40_000,
  wrong: all(someImageIsGone, runOn("writes", "modest")),
};

const disk: Scenario = {
  name: "eviction for disk space after unused images were removed",
  agent: kubeletWith(...DISK_FLAGS),
  before: withUnusedImages,
  steps: [
    [2_000, ({ create }) => void create(pod("modest", using({ layerBytes: 30 * MIB })))],
    [2_001, ({ create }) => void create(pod("writes", using({ layerBytes: 150 * MIB }, 3_000)))],
  ],
  lastsMs: 50_000,
  wrong: all(
    hasImages("busybox"),
    isEvicted("writes", `${LOW_ON}ephemeral-storage. `),
    startsAre("writes", 1),
    runOn("modest"),
  ),
};

const scratch = (name: string) => {
  const { containers } = app(SERVER, { volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] });
  return pod(name, { containers, volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1Mi" } }] });
};

const write =
  (...names: readonly string[]) =>
  ({ node, pod: find }: Stage) => {
    for (const name of names) {
      const uid = find(name)?.metadata?.uid ?? "";
      const path = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/scratch/data`;
      install(node.files, path, "x".repeat(2 * MIB));
    }
  };

const layered = (() => {
  const [container] = using({ layerBytes: 3 * MIB }, 6_000).containers;
  const resources = { limits: { "ephemeral-storage": "2Mi" } };
  return pod("layer", { containers: container === undefined ? [] : [{ ...container, resources }] });
})();

const storage: Scenario = {
  name: "eviction of several pods for their limits of local storage",
  agent: kubeletWith(),
  steps: [
    [2_000, ({ create }) => ["one", "two", "small"].forEach((name) => void create(scratch(name)))],
    [2_001, ({ create }) => void create(layered)],
    [6_000, write("one", "two")],
  ],
  lastsMs: 80_000,
  wrong: all(
    isEvicted("one", 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". '),
    isEvicted("two", 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". '),
    isEvicted("layer", "Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. "),
    ...["one", "two", "layer"].map((name) => startsAre(name, 1)),
    runOn("small"),
  ),
};

const deadContainers: Scenario = {
  name: "dead containers beyond the limits",
  agent: kubeletWith("--maximum-dead-containers-per-container=1", "--maximum-dead-containers=1"),
  steps: [
    [2_000, ({ create }) => void create(pod("once", { ...app(exits(1_000, 4)), restartPolicy: "Never" }))],
    [2_001, ({ create }) => void create(pod("again", app(exits(100, 3))))],
  ],
  lastsMs: 80_000,
  wrong: all(endedWith("once", "Failed", 4), startsAre("once", 1), deadAre("again", 1)),
};

export const withEviction: readonly Scenario[] = [
  memory,
  nothingToEvict,
  soft,
  hardHook,
  processes,
  diskReclaimed,
  disk,
  storage,
  deadContainers,
];
