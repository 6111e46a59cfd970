/**
 * What a node reports about its usage at /stats/summary, /metrics/resource and /metrics/cadvisor. The set of series and
 * their constant values must equal the Go kubelet's recorded ones. Every changing value is compared with the kernel's
 * own files, read just before and just after the request. If a Go kubelet runs beside Deckhand with the same pods, the
 * values of both are compared too.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Summary } from "../../src/domain/stats/summary-shape.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { neutralJson } from "../golden/answers.ts";
import { Recording } from "../golden/recording.ts";
import { comparisonMode, deckhandTest, NODES, SIDES, type Side } from "../golden/sides.ts";
import { readExposition } from "../support/exposition.ts";
import { type Comparison, compare, type Differences, type Looks } from "./node-stats/compare.ts";
import { KernelAt, lastingLinks, linksNow, mountsOf } from "./node-stats/kernel.ts";
import { type Held, heldMetrics } from "./node-stats/metric-values.ts";
import { groupOfMetric, placesOf, type WorkloadPlaces } from "./node-stats/places.ts";
import {
  CADVISOR_DIFFERENCES,
  CADVISOR_RULES,
  RESOURCE_RULES,
  SUMMARY_DIFFERENCES,
  SUMMARY_RULES,
} from "./node-stats/rules.ts";
import {
  metricSeries,
  type Normal,
  normalOf,
  type Series,
  summarySeries,
  withoutPassing,
} from "./node-stats/series.ts";
import { type Neutral, neutralKeys, shapeOf } from "./node-stats/shape.ts";
import { HeldSummary, type Look as SummaryLook } from "./node-stats/summary-values.ts";
import { startWorkload, waitForWorkload } from "./node-stats/workload.ts";

const recording = Recording.open("node-stats");
const startedMs = Date.now();

interface NodeSide {
  readonly node: ClusterNode;
  readonly namespace: string;
  normal: Normal;
}

let cluster: Cluster;
/** The machine's interfaces when the cluster started: interfaces of other tests come and go. */
let interfacesBefore: ReadonlyMap<string, string>;
const sides = new Map<Side, NodeSide>();
let neutral: Neutral;

const sideOf = (side: Side) => sides.get(side) ?? assert.fail(`${side} does not run`);

const raw = (side: Side, path: string) => cluster.kubectl("get", "--raw", `/api/v1/nodes/${NODES[side]}/proxy${path}`);

const NAME = `stats${process.pid}`;
/** The cgroup of all programs that are not containers; both agents report it as the kubelet's. */
const KUBELET_GROUP = `/deckhand-${NAME}/parts`;
/** Volumes are measured more often than once a minute, so that tests do not wait for it. */
const configuration = { volumeStatsAggPeriod: "5s", kubeletCgroups: KUBELET_GROUP };

before(async () => {
  cluster = await startCluster({
    name: NAME,
    controlPlane: "full",
    nodes: SIDES.map((agent) => ({ agent, options: { configuration } })),
  });
  interfacesBefore = linksNow();
  neutral = await neutralKeys(KUBELET_GROUP);
  for (const side of SIDES) {
    const node = cluster.nodes.find(({ name }) => name === NODES[side]) ?? assert.fail(`no node for ${side}`);
    sides.set(side, { node, namespace: `stats-${side}`, normal: (text) => text });
  }
  for (const { node, namespace } of sides.values()) await startWorkload(cluster, node, namespace);
  for (const one of sides.values()) {
    await waitForWorkload(cluster, one.node, one.namespace);
    one.normal = await normalOf(cluster, one.node, one.namespace);
  }
  for (const side of SIDES) await waitUntil(`${side} to know all of its pods`, 90_000, () => isSettled(side), 500);
  if (comparisonMode === "live") looks = await lookTwice();
  if (comparisonMode === "record") await comesToRest();
});

after(() => cluster?.down());

/**
 * True once the agent has measured each container twice, containerd has measured what each container wrote, and the
 * volumes have been measured.
 */
async function isSettled(side: Side): Promise<boolean> {
  const summary = summarySeries(sideOf(side).normal(await raw(side, "/stats/summary")));
  const containers = [
    "busy[burner]",
    "busy[holder]",
    "talker[talker]",
    "hostnet[main]",
    "keeper[keeper]",
    "fixed[main]",
  ];
  const of = (name: string) => name.replace("[", "].containers[");
  return (
    containers.every((name) => summary.has(`.pods[${of(name)}.cpu.usageNanoCores`)) &&
    Number(summary.get(".pods[busy].containers[holder].rootfs.usedBytes")?.value ?? 0) > 3 * 1024 ** 2 &&
    Number(summary.get(".pods[busy].volume[scratch].usedBytes")?.value ?? 0) > 5 * 1024 ** 2 &&
    Number(summary.get(".pods[talker].network.txBytes")?.value ?? 0) > 200_000 &&
    summary.has(".pods[keeper].volume[data].usedBytes") &&
    ["busy", "talker", "hostnet", "keeper", "fixed"].every((pod) =>
      summary.has(`.pods[${pod}].process_stats.process_count`),
    )
  );
}

const ENDPOINTS = {
  summary: ["/stats/summary", summarySeries, SUMMARY_RULES],
  light: ["/stats/summary?only_cpu_and_memory=true", summarySeries, SUMMARY_RULES],
  resource: ["/metrics/resource", metricSeries, RESOURCE_RULES],
  cadvisor: ["/metrics/cadvisor", metricSeries, CADVISOR_RULES],
} as const;
type Endpoint = keyof typeof ENDPOINTS;
type Look = Readonly<Record<Endpoint, Series>>;

async function seriesAt(side: Side, endpoint: Endpoint): Promise<Series> {
  const [path, parse] = ENDPOINTS[endpoint];
  return parse(sideOf(side).normal(await raw(side, path)));
}

async function lookAt(side: Side): Promise<Look> {
  const read = async (name: Endpoint) => [name, await seriesAt(side, name)] as const;
  return Object.fromEntries(await Promise.all((Object.keys(ENDPOINTS) as Endpoint[]).map(read))) as Look;
}

const shapeAt = async (side: Side, endpoint: Endpoint) =>
  shapeOf(await seriesAt(side, endpoint), ENDPOINTS[endpoint][2], neutral);

/** Waits until no series has been added for some seconds: cAdvisor finds and measures cgroups at its own pace. */
async function comesToRest(): Promise<void> {
  const shapes = async () => {
    const all = await lookAt("go");
    return JSON.stringify(
      (Object.keys(ENDPOINTS) as Endpoint[]).map((name) =>
        neutralJson(shapeOf(all[name], ENDPOINTS[name][2], neutral)),
      ),
    );
  };
  await waitUntil("the series of the Go kubelet to be complete", 180_000, async () => {
    const first = await shapes();
    await pause(20_000);
    return first === (await shapes());
  });
}

/** True if all values were read after the given time: cAdvisor reads each cgroup every ten to twenty seconds. */
const isSince = (momentMs: number, series: Series): boolean =>
  [...series.values()].every(({ atMs }) => atMs === undefined || momentMs < atMs);

/** Of both agents, if both run. */
let looks: Readonly<Record<Endpoint, readonly [theirs: Looks, ours: Looks]>> | undefined;

/**
 * Reads both agents at about the same time, twice. All values of the Go kubelet's second report are read between the
 * two reads of Deckhand.
 */
async function lookTwice(): Promise<typeof looks> {
  const [theirFirst, ourFirst] = await Promise.all([lookAt("go"), lookAt("deckhand")]);
  const lookedMs = Date.now();
  let theirs = theirFirst;
  await waitUntil("new readings of all groups", 60_000, async () => {
    theirs = await lookAt("go");
    return isSince(lookedMs, theirs.cadvisor);
  });
  const own = await lookAt("deckhand");
  const lasting = lastingLinks(interfacesBefore, linksNow());
  const pair = (name: Endpoint) => {
    const looksOf = (first: Look, second: Look): Looks => ({
      first: withoutPassing(first[name], lasting),
      second: withoutPassing(second[name], lasting),
    });
    return [looksOf(theirFirst, theirs), looksOf(ourFirst, own)] as const;
  };
  return { summary: pair("summary"), light: pair("light"), resource: pair("resource"), cadvisor: pair("cadvisor") };
}

function report(name: string, { compared, onlyPresent, known, unexplained }: Comparison): void {
  figure(`${name}: values compared with a Go kubelet that runs`, compared, "values");
  figure(`${name}: of these only looked for`, onlyPresent, "values");
  for (const [why, count] of known) figure(`${name}: ${why}`, count, "differences");
  assert.ok(compared > 40, `${compared} values are too few`);
  assert.deepEqual(unexplained, []);
}

/**
 * Checks that the series and their constant values equal the Go kubelet's, and so do the values if the Go kubelet runs.
 */
async function held(name: string, endpoint: Endpoint, differences: Differences): Promise<void> {
  const before = recording.compared;
  await recording.check(endpoint, (side) => shapeAt(side, endpoint));
  if (comparisonMode !== "record") figure(`${name}: series compared`, recording.compared - before, "values");
  if (looks === undefined) return;
  const [theirs, own] = looks[endpoint];
  report(name, compare(theirs, own, ENDPOINTS[endpoint][2], differences));
}

/** For this long, one reading serves all requests. */
const SHARED_MS = 1_500;

interface Asked {
  readonly text: string;
  readonly askedMs: number;
  readonly answeredMs: number;
  readonly before: KernelAt;
  readonly after: KernelAt;
}

/** One response of Deckhand between two readings of the kernel's files. */
async function ask(endpoint: Endpoint, places: WorkloadPlaces): Promise<Asked> {
  const { node } = sideOf("deckhand");
  await pause(SHARED_MS);
  const mounts = await mountsOf(node);
  const before = new KernelAt(node, places.groups, mounts);
  const askedMs = Date.now();
  const text = await raw("deckhand", ENDPOINTS[endpoint][0]);
  const answeredMs = Date.now();
  return { text, askedMs, answeredMs, before, after: new KernelAt(node, places.groups, mounts) };
}

const lookOf = ({ text, askedMs, answeredMs }: Asked): SummaryLook => {
  const summary = JSON.parse(text) as Summary;
  return { summary, askedMs, answeredMs };
};

function confirmed(name: string, { compared, troubles }: Held, least: number): void {
  figure(`${name}: values confirmed by the kernel`, compared, "values");
  assert.deepEqual(troubles, []);
  assert.ok(compared >= least, `${compared} values are too few`);
}

void suite("usage of a node", () => {
  test("[20.12][21.3][21.4] /stats/summary has the Go kubelet's fields and values", () =>
    held("summary", "summary", SUMMARY_DIFFERENCES));

  test("[20.12] /stats/summary?only_cpu_and_memory=true has CPU, memory and swap, and nothing else", async () => {
    await held("light summary", "light", SUMMARY_DIFFERENCES);
    for (const side of SIDES) {
      const { pods } = JSON.parse(await raw(side, ENDPOINTS.light[0])) as Summary;
      const fields = new Set(pods.flatMap((pod) => Object.keys(pod)));
      assert.deepEqual([...fields].sort(), ["containers", "cpu", "memory", "podRef", "startTime", "swap"]);
    }
  });

  test("[21.1][21.2] /metrics/resource equals the Go kubelet's, with the time of reading of each sample", () =>
    held("resource metrics", "resource", []));

  test("[21.5] /metrics/cadvisor has cAdvisor's families, series, labels and values", () =>
    held("cAdvisor's metrics", "cadvisor", CADVISOR_DIFFERENCES));

  deckhandTest(
    "[20.12][21.3][21.5] every value equals the kernel's for the same cgroup, network and disk",
    async () => {
      const { node, namespace } = sideOf("deckhand");
      const places = await placesOf(cluster, node, namespace, { kubeletGroup: KUBELET_GROUP, startedMs });
      await waitUntil("the runtime to measure what containers wrote", 30_000, () => isMeasured(places), 500);
      const [first, second, light] = [
        await ask("summary", places),
        await ask("summary", places),
        await ask("light", places),
      ];
      const [resource, cadvisor] = [await ask("resource", places), await ask("cadvisor", places)];
      const summaryOf = (asked: Asked, earlier: Asked) =>
        new HeldSummary(lookOf(asked), lookOf(earlier), places, asked.before, asked.after);
      confirmed("summary", summaryOf(second, first), 400);
      confirmed("light summary", summaryOf(light, second), 150);
      const metricsOf = ({ text, before, after }: Asked) => heldMetrics(text, groupOfMetric(places), before, after);
      confirmed("resource metrics", metricsOf(resource), 40);
      confirmed("cAdvisor's metrics", metricsOf(cadvisor), 700);
      assertEachOf(cadvisor);
      const burner = lookOf(second).summary.pods.flatMap(({ containers }) =>
        containers.filter(({ name }) => name === "burner"),
      );
      assert.ok((burner[0]?.cpu?.usageNanoCores ?? 0) > 5_000_000, "a container that never rests uses the CPU");
    },
  );

  deckhandTest(
    "[21.8] stats are read on request: values are current, and concurrent requests share one reading",
    async () => {
      const times = async (path: string) => {
        const families = readExposition(await raw("deckhand", path));
        return Number(families.get("node_cpu_usage_seconds_total")?.samples[0]?.atText);
      };
      // On a busy machine, two concurrent requests may be more than a second apart.
      await waitUntil("two who ask in one moment to get the same", 60_000, async () => {
        const askedMs = Date.now();
        const [one, other] = await Promise.all([times("/metrics/resource"), times("/metrics/resource")]);
        assert.ok(one >= askedMs - 1_000 && one <= Date.now(), `${one} is not now, ${askedMs}`);
        return one === other;
      });
    },
  );

  test("[13.27] the volume of a PersistentVolumeClaim is reported with its name and the capacity of its file system", async () => {
    for (const side of SIDES) {
      const summary = await seriesAt(side, "summary");
      const reported = (field: string) => summary.get(`.pods[keeper].volume[data].${field}`)?.value;
      assert.deepEqual([reported("pvcRef.name"), reported("pvcRef.namespace")], ["data", "stats"]);
      const [capacity, used] = [Number(reported("capacityBytes")), Number(reported("usedBytes"))];
      assert.ok(capacity > used && used > 2 * 1024 ** 2, `${used} of ${capacity}`);
    }
  });
});

/** containerd measures every ten seconds what a container has written. */
async function isMeasured(places: WorkloadPlaces): Promise<boolean> {
  const { pods } = JSON.parse(await raw("deckhand", ENDPOINTS.summary[0])) as Summary;
  return pods.every(({ podRef, containers }) =>
    containers.every(({ name, rootfs }) => {
      const written = places.pods.get(podRef.name)?.containers.get(name)?.written;
      return Math.abs((rootfs?.inodesUsed ?? 0) - (written?.inodes ?? 0)) <= 2;
    }),
  );
}

/** Every interface of the machine and every file system has a series, unless it came or went meanwhile. */
function assertEachOf({ text, before, after }: Asked): void {
  const families = readExposition(text);
  const named = (family: string, label: string) =>
    new Set(
      families.get(family)?.samples.flatMap(({ labels }) => (labels["id"] === "/" ? [labels[label] ?? ""] : [])) ?? [],
    );
  const own = [...(before.group("/")?.network.keys() ?? [])];
  const both = lastingLinks(before.links, after.links);
  const lasting = own.filter((name) => both.has(name));
  const reported = named("container_network_receive_bytes_total", "interface");
  assert.deepEqual(
    lasting.filter((name) => !reported.has(name)),
    [],
  );
  assert.deepEqual([...named("container_fs_limit_bytes", "device")].toSorted(), [...after.mounts.keys()].toSorted());
}
