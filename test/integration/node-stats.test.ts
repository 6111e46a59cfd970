/**
 * What a node tells of its own use, field by field against a Go kubelet's on the same machine with the same pods: /stats/summary, /metrics/resource and
 * /metrics/cadvisor. Counters are compared by how fast they grew between two looks at each, gauges within what the rules state.
 */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { readExposition } from "../support/exposition.ts";
import { type Comparison, compare, type Differences, type Looks, type Rules } from "./node-stats/compare.ts";
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
import { startWorkload, waitForWorkload } from "./node-stats/workload.ts";

interface Side {
  readonly node: ClusterNode;
  readonly namespace: string;
  normal: Normal;
}

let cluster: Cluster;
/** The machine's interfaces when the cluster came up: those of other tests come and go. */
let interfacesBefore: readonly string[];
let go: Side;
let ours: Side;

const interfaces = () => readdir("/sys/class/net");

const raw = (side: Side, path: string) =>
  cluster.kubectl("get", "--raw", `/api/v1/nodes/${side.node.name}/proxy${path}`);

/** Volumes are looked at more often than once in a minute, so that nobody waits for it; groups of the agents are named on both. */
const configuration = (name: string) => ({ volumeStatsAggPeriod: "5s", kubeletCgroups: `/deckhand-${name}/parts` });

before(async () => {
  const name = `stats${process.pid}`;
  const options = { configuration: configuration(name) };
  cluster = await startCluster({
    name,
    controlPlane: "full",
    nodes: [
      { agent: "go", options },
      { agent: "deckhand", options },
    ],
  });
  interfacesBefore = await interfaces();
  const [first, second] = cluster.nodes;
  assert.ok(first !== undefined && second !== undefined);
  go = { node: first, namespace: "stats-go", normal: (text) => text };
  ours = { node: second, namespace: "stats-ours", normal: (text) => text };
  for (const { node, namespace } of [go, ours]) await startWorkload(cluster, node, namespace);
  for (const side of [go, ours]) {
    await waitForWorkload(cluster, side.node, side.namespace);
    side.normal = await normalOf(cluster, side.node, side.namespace);
  }
  await waitUntil(
    "both to know all of their pods",
    90_000,
    async () => (await isSettled(go)) && (await isSettled(ours)),
  );
  looks = await lookTwice();
});

after(() => cluster?.down());

/** cAdvisor has seen each container twice, containerd has measured what each wrote, and volumes have been looked at. */
async function isSettled(side: Side): Promise<boolean> {
  const summary = summarySeries(side.normal(await raw(side, "/stats/summary")));
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
  summary: ["/stats/summary", summarySeries],
  light: ["/stats/summary?only_cpu_and_memory=true", summarySeries],
  resource: ["/metrics/resource", metricSeries],
  cadvisor: ["/metrics/cadvisor", metricSeries],
} as const;
type Endpoint = keyof typeof ENDPOINTS;
type Look = Readonly<Record<Endpoint, Series>>;

async function lookAt(side: Side): Promise<Look> {
  const read = async (name: Endpoint) => {
    const [path, parse] = ENDPOINTS[name];
    return [name, parse(side.normal(await raw(side, path)))] as const;
  };
  return Object.fromEntries(await Promise.all((Object.keys(ENDPOINTS) as Endpoint[]).map(read))) as Look;
}

/** cAdvisor reads a group every ten to twenty seconds: all of what it tells was read since. */
const isSince = (momentMs: number, series: Series): boolean =>
  [...series.values()].every(({ atMs }) => atMs === undefined || momentMs < atMs);

let looks: Readonly<Record<Endpoint, readonly [theirs: Looks, ours: Looks]>>;

/** Both at about the same time, twice, with all that the Go kubelet tells the second time read between our two looks. */
async function lookTwice(): Promise<typeof looks> {
  const [theirFirst, ourFirst] = await Promise.all([lookAt(go), lookAt(ours)]);
  const lookedMs = Date.now();
  let theirs = theirFirst;
  await waitUntil("new readings of all groups", 60_000, async () => {
    theirs = await lookAt(go);
    return isSince(lookedMs, theirs.cadvisor);
  });
  const own = await lookAt(ours);
  const interfacesAfter = new Set(await interfaces());
  const lasting = new Set(interfacesBefore.filter((name) => interfacesAfter.has(name)));
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
  figure(`${name}: values compared`, compared, "values");
  figure(`${name}: of these only looked for`, onlyPresent, "values");
  for (const [why, count] of known) figure(`${name}: ${why}`, count, "differences");
  assert.ok(compared > 40, `${compared} values are too few`);
  assert.deepEqual(unexplained, []);
}

function held(name: string, endpoint: Endpoint, rules: Rules, differences: Differences): void {
  const [theirs, own] = looks[endpoint];
  report(name, compare(theirs, own, rules, differences));
}

void suite("what a node tells of its use", () => {
  test("[20.12][21.3][21.4] the summary has the Go kubelet's fields, with its values", () => {
    held("summary", "summary", SUMMARY_RULES, SUMMARY_DIFFERENCES);
  });

  test("[20.12] the light summary has CPU, memory and swap, and nothing else", async () => {
    held("light summary", "light", SUMMARY_RULES, SUMMARY_DIFFERENCES);
    const summary = JSON.parse(await raw(ours, ENDPOINTS.light[0])) as {
      readonly pods: readonly Readonly<Record<string, unknown>>[];
    };
    const fields = new Set(summary.pods.flatMap((pod) => Object.keys(pod)));
    assert.deepEqual([...fields].sort(), ["containers", "cpu", "memory", "podRef", "startTime", "swap"]);
  });

  test("[21.1][21.2] the resource metrics are the Go kubelet's, each with the moment it was read at", () => {
    held("resource metrics", "resource", RESOURCE_RULES, []);
  });

  test("[21.5] cAdvisor's metrics have its families, rows, labels and values", () => {
    held("cAdvisor's metrics", "cadvisor", CADVISOR_RULES, CADVISOR_DIFFERENCES);
  });

  test("[21.8] nothing is read while nobody asks: figures are those of the moment, and askers of one moment share them", async () => {
    const times = async (path: string) => {
      const families = readExposition(await raw(ours, path));
      return Number(families.get("node_cpu_usage_seconds_total")?.samples[0]?.atText);
    };
    // On a busy machine two who ask at once may be more than a second apart.
    await waitUntil("two who ask in one moment to hear the same", 60_000, async () => {
      const askedMs = Date.now();
      const [one, other] = await Promise.all([times("/metrics/resource"), times("/metrics/resource")]);
      assert.ok(one >= askedMs - 1_000 && one <= Date.now(), `${one} is not now, ${askedMs}`);
      return one === other;
    });
  });

  test("[13.27] a claim's volume is told with its file system's room", async () => {
    const summary = summarySeries(ours.normal(await raw(ours, "/stats/summary")));
    const told = (field: string) => summary.get(`.pods[keeper].volume[data].${field}`)?.value;
    assert.deepEqual([told("pvcRef.name"), told("pvcRef.namespace")], ["data", "stats"]);
    const [capacity, used] = [Number(told("capacityBytes")), Number(told("usedBytes"))];
    assert.ok(capacity > used && used > 2 * 1024 ** 2, `${used} of ${capacity}`);
  });
});
