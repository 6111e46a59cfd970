/**
 * Evicts pods for memory and for their own limits of local storage: the same pods as the Go kubelet, with the same
 * status, events and metrics. The memory of all pods together is limited, so that a few hundred megabytes are a
 * shortage while the machine itself has enough. Part of it is reserved per QoS class.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import type { Event, Node, NodeCondition, Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import type { WhatIfReport } from "../../src/domain/eviction/what-if-report.ts";
import { inRepository } from "../../tools/repository.ts";
import { DECKHAND_MAIN } from "../cluster/node.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { Recording } from "../golden/recording.ts";
import { deckhandTest, NODES, nameOn, SIDES, type Side } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { type ClusterPods, podOn, SLEEPER, sh } from "../support/cluster-pods.ts";
import { evictionOf, isEvicted, samplesByLabel } from "../support/evictions.ts";
import { readExposition } from "../support/exposition.ts";
import { withRuntime } from "../support/node-runtime.ts";
import { neutralStatus } from "../support/normal-form.ts";

const recording = Recording.open("eviction-differential");

const MIB = 2 ** 20;
/** The limit of all pods together; 100Mi of it are the threshold. */
const PODS_BYTES = 600 * MIB;
const EVICTED_MS = 90_000;
/** The Go kubelet publishes conditions with its next status report. */
const CONDITION_MS = 30_000;
/** The Go kubelet removes dead containers every minute. */
const REMOVED_MS = 90_000;
const forever = new AbortController().signal;
/** Longer than the interval at which either agent checks limits of local storage. */
const STORAGE_ROUND_MS = 25_000;

/** Does nothing until it is killed. A container that exits with 0 would leave the pod Succeeded in the Go kubelet. */
const STAY = "while :; do sleep 1000 & wait; done";

/** Holds that much memory until it is killed. */
const holding = (megabytes: number): string =>
  `head -c ${megabytes * MIB} /dev/zero | tail -c ${megabytes * MIB} | sleep 100000 & ${STAY}`;

const user = (megabytes: number, requests: Readonly<Record<string, string>>): Partial<PodSpec> => ({
  containers: [{ ...sh(holding(megabytes)), resources: { requests } }],
});

/** Within the limit together. */
const USERS: Readonly<Record<string, Partial<PodSpec>>> = {
  "within-request": user(100, { memory: "150Mi" }),
  "above-request": user(100, { memory: "10Mi" }),
  "without-request": user(130, {}),
};
/**
 * Brings the pods above the limit, after both agents have measured all of them: the Go kubelet measures every ten
 * seconds and evicts a pod without stats first.
 */
const BURST: Partial<PodSpec> = {
  containers: [{ ...sh(`sleep 30; ${holding(230)}`), resources: { requests: { memory: "150Mi" } } }],
};

/** A class above BestEffort each, with the memory that its pod requests. */
const REQUESTERS: Readonly<Record<string, Partial<PodSpec>>> = {
  guaranteed: {
    containers: [
      { ...SLEEPER, resources: { requests: { cpu: "10m", memory: "100Mi" }, limits: { cpu: "10m", memory: "100Mi" } } },
    ],
  },
  burstable: { containers: [{ ...SLEEPER, resources: { requests: { memory: "64Mi" } } }] },
};
/** The Go kubelet computes the limits of QoS cgroups at a pod's first start and every minute. */
const LIMITS_MS = 90_000;

const written = (megabytes: number, path: string): string => `head -c ${megabytes * MIB} /dev/zero > ${path}; ${STAY}`;
const scratch = { volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] };

const STORERS: Readonly<Record<string, { readonly evicted: boolean; readonly spec: Partial<PodSpec> }>> = {
  "empty-dir": {
    evicted: true,
    spec: {
      containers: [{ ...sh(written(4, "/scratch/data")), ...scratch }],
      volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1Mi" } }],
    },
  },
  "small-empty-dir": {
    evicted: false,
    spec: {
      containers: [{ ...sh(written(1, "/scratch/data")), ...scratch }],
      volumes: [{ name: "scratch", emptyDir: { sizeLimit: "8Mi" } }],
    },
  },
  "container-limit": {
    evicted: true,
    spec: {
      containers: [
        { ...sh(written(4, "/data")), resources: { limits: { "ephemeral-storage": "2Mi" } } },
        { ...SLEEPER, name: "other", resources: { limits: { "ephemeral-storage": "64Mi" } } },
      ],
    },
  },
  "pod-limit": {
    evicted: true,
    spec: {
      containers: [
        {
          ...sh(written(6, "/scratch/data")),
          ...scratch,
          resources: { limits: { "ephemeral-storage": "5Mi" } },
        },
      ],
      volumes: [{ name: "scratch", emptyDir: {} }],
    },
  },
};

let world: BothAgents;
let pods: ClusterPods;

before(async () => {
  const reserved = (await memoryTotalBytes()) - PODS_BYTES;
  const configuration = {
    enforceNodeAllocatable: ["pods"],
    kubeReserved: { memory: String(reserved) },
    featureGates: { QOSReserved: true },
    qosReserved: { memory: "50%" },
    evictionHard: { "memory.available": "100Mi" },
    evictionPressureTransitionPeriod: "60s",
    volumeStatsAggPeriod: "5s",
  };
  world = await BothAgents.start({ configuration }, { criProxy: false });
  ({ pods } = world);
});

after(() => world.end());

/** The memory limits of all pods and of the two lower classes, in MiB. */
async function memoryLimits(side: Side): Promise<Readonly<Record<"all" | "burstable" | "besteffort", number>>> {
  const limit = async (tier: string) => {
    const file = `/sys/fs/cgroup/memory${world.node(side).cgroupParent}/kubepods${tier}/memory.limit_in_bytes`;
    return Number(await readFile(file, "utf8")) / MIB;
  };
  return { all: await limit(""), burstable: await limit("/burstable"), besteffort: await limit("/besteffort") };
}

async function deleteOnAll(names: readonly string[]): Promise<void> {
  for (const name of names) for (const side of SIDES) await pods.delete(nameOn(side, name));
  for (const name of names) for (const side of SIDES) await pods.gone(nameOn(side, name));
}

void test("[14.15] limits of the Burstable and BestEffort cgroups follow what pods of higher classes request", async () => {
  for (const [name, spec] of Object.entries(REQUESTERS)) {
    await createOnAll(name, spec);
    for (const side of SIDES) await pods.running(nameOn(side, name));
  }
  await recording.check("reserved: limits while the pods run", memoryLimits);
  await deleteOnAll(Object.keys(REQUESTERS));
  await recording.check("reserved: limits after the pods", async (side) => {
    const areBack = async () => (await memoryLimits(side)).besteffort === PODS_BYTES / MIB;
    await waitUntil("limits without reservations", LIMITS_MS, areBack, 200);
    return memoryLimits(side);
  });
});

async function memoryTotalBytes(): Promise<number> {
  const text = await readFile("/proc/meminfo", "utf8");
  return Number(/^MemTotal:\s+(\d+) kB$/m.exec(text)?.[1] ?? assert.fail(text)) * 1024;
}

async function createOnAll(name: string, spec: Partial<PodSpec>): Promise<void> {
  for (const side of SIDES)
    await pods.create(podOn(NODES[side], nameOn(side, name), { restartPolicy: "Never", ...spec }));
}

const evicted = (name: string, side: Side): Promise<Pod> =>
  pods.first(nameOn(side, name), "was evicted", isEvicted, EVICTED_MS);

/** The command lines of the document. */
const WHAT_IF_LINES = readFileSync(inRepository("docs/eviction.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("deckhand eviction "));

const type = (line: string) => world.node("deckhand").run(process.execPath, DECKHAND_MAIN, ...line.split(" ").slice(1));

const phaseOf = (name: string, side: Side) => pods.latest(nameOn(side, name))?.status?.phase;

const metricsOf = (side: Side) => world.cluster.kubectl("get", "--raw", `/api/v1/nodes/${NODES[side]}/proxy/metrics`);

const evictionsCounted = async (side: Side) => samplesByLabel(await metricsOf(side), "kubelet_evictions");

void suite("evicted pods", () => {
  test("[17.7] [21.9] every pod above a limit of local storage is evicted, the others run", async () => {
    for (const [name, { spec }] of Object.entries(STORERS)) await createOnAll(name, spec);
    for (const [name, one] of Object.entries(STORERS).filter(([, { evicted: is }]) => is)) {
      assert.ok(one.evicted);
      await recording.check(`${name}: eviction`, (side) => evictionOf(pods, nameOn(side, name), EVICTED_MS));
    }
    await pause(STORAGE_ROUND_MS);
    for (const side of SIDES) assert.equal(phaseOf("small-empty-dir", side), "Running");
    await recording.check("storage: evictions counted", evictionsCounted);
    await deleteOnAll(Object.keys(STORERS));
  });

  test("[17.2] [17.5] [17.6] evicts the pod that uses most memory above its request, and only that pod", async () => {
    for (const [name, spec] of Object.entries(USERS)) await createOnAll(name, spec);
    for (const name of Object.keys(USERS)) for (const side of SIDES) await pods.running(nameOn(side, name));
    await createOnAll("burst", BURST);
    await recording.check("memory: eviction", (side) => evictionOf(pods, nameOn(side, "without-request"), EVICTED_MS));
    for (const side of SIDES) {
      for (const name of ["within-request", "above-request", "burst"])
        assert.equal(phaseOf(name, side), "Running", name);
    }
    await recording.check("memory: evictions counted", evictionsCounted);
  });

  test("[17.8] [3.11] the node has MemoryPressure while memory is short and for the transition period after that", async () => {
    await recording.check("memory: node condition", async (side) => {
      let found: NodeCondition | undefined;
      await waitUntil(`${NODES[side]} to have MemoryPressure`, CONDITION_MS, async () => {
        const node = JSON.parse(await world.cluster.kubectl("get", "node", NODES[side], "-o", "json")) as Node;
        found = node.status?.conditions?.find(({ type }) => type === "MemoryPressure");
        return found?.status === "True";
      });
      return { status: found?.status, reason: found?.reason, message: found?.message };
    });
    await recording.check("memory: event of the node", async (side) => {
      const selector = `--field-selector=involvedObject.kind=Node,involvedObject.name=${NODES[side]}`;
      const text = await world.cluster.kubectl("get", "events", "--all-namespaces", selector, "-o", "json");
      const { items } = JSON.parse(text) as { readonly items: readonly Event[] };
      const met = items.filter(({ reason }) => reason === "EvictionThresholdMet");
      return [...new Set(met.map(({ type, message }) => `${type} ${message}`))];
    });
    await recording.check("memory: a BestEffort pod is rejected", async (side) => {
      await pods.create(podOn(NODES[side], nameOn(side, "late"), { containers: [SLEEPER] }));
      const pod = await pods.first(nameOn(side, "late"), "was rejected", isEvicted, EVICTED_MS);
      return neutralStatus(pod);
    });
  });

  test("[11.4] [17.9] an evicted pod's conditions, and the age of the stats that it was evicted for", async () => {
    await recording.check("memory: conditions of the evicted pod", async (side) => {
      const { conditions = [] } = (await evicted("without-request", side)).status ?? {};
      return conditions.map(({ type, status, reason }) => `${type} ${status} ${reason ?? ""}`).toSorted();
    });
    await recording.check("memory: signals whose stats' age was measured", async (side) => {
      const samples = readExposition(await metricsOf(side)).get("kubelet_eviction_stats_age_seconds")?.samples ?? [];
      const counts = samples.filter(({ name }) => name.endsWith("_count"));
      return counts.map(({ labels, value }) => `${Object.values(labels).join()} ${value}`);
    });
  });

  test("[17.1] the thresholds of the configuration replace all defaults", async () => {
    await recording.check("thresholds", async (side) => {
      const text = await world.cluster.kubectl("get", "--raw", `/api/v1/nodes/${NODES[side]}/proxy/configz`);
      const { kubeletconfig } = JSON.parse(text) as { readonly kubeletconfig: Readonly<Record<string, unknown>> };
      return kubeletconfig["evictionHard"];
    });
  });

  test("[7.24] [19.1] containers of an evicted pod are removed from the runtime", async () => {
    for (const side of SIDES) {
      const uid = pods.latest(nameOn(side, "without-request"))?.metadata?.uid ?? assert.fail("the pod still exists");
      await withRuntime(world.node(side), async (runtime) => {
        const labels = { "io.kubernetes.pod.uid": uid };
        const areGone = async () => (await runtime.listContainers({ labels }, forever)).length === 0;
        await waitUntil(`no container of ${uid}`, REMOVED_MS, areGone, 1_000);
      });
    }
  });

  deckhandTest(
    "[17.6] explain pod and explain node show the measurement and the ranking behind an eviction",
    async () => {
      const side = "deckhand";
      const name = nameOn(side, "without-request");
      const explained = async (...args: readonly string[]) =>
        (await type(`deckhand explain ${args.join(" ")}`)).stdout.replaceAll(/\s+/g, " ");
      const ofPod = await explained("pod", `default/${name}`);
      assert.match(ofPod, /Evicted: The node was low on resource: memory/);
      assert.match(ofPod, /allocatableMemory\.available was \d+ of \d+, below 104857600/);
      assert.match(
        await explained("node"),
        new RegExp(`evicted at [0-9:]+: default/${name}: The node was low on resource`),
      );
    },
  );

  deckhandTest("[17.5] eviction what-if names the pods that would be evicted, as documented", async () => {
    assert.equal(WHAT_IF_LINES.length, 2);
    const answers: string[] = [];
    for (const line of WHAT_IF_LINES) {
      const { stdout, stderr, code } = await type(line);
      assert.equal(code, 0, stderr);
      answers.push(stdout);
    }
    const [text = "", json = ""] = answers;
    const first = `default/${nameOn("deckhand", "above-request")}`;
    assert.match(text, new RegExp(`^memory\\.available: \\d+ available, the threshold is 104857600\n`));
    assert.match(text, new RegExp(`\n +1\\. ${first} \\(usage \\d+, request 10Mi, priority 0\\)\n`));
    assert.equal((JSON.parse(json) as WhatIfReport).victims.length, 0, "1 % of this machine is above the threshold");
    const refused = await type("deckhand eviction what-if --pid 5");
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^error: pid\.available is not measured on this node/);
  });
});
