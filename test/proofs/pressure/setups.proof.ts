/**
 * Both agents under the same shortages, side by side: the same victims in the same order, with the same status, events,
 * conditions and metrics. The memory of all pods of a node is limited, so that a fraction of the machine's memory is a
 * shortage, and several pairs of nodes work at the same time. Process ids are those of the machine: one node after the
 * other is short of them. `DECKHAND_SHARE=4` runs every fourth setup.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import type { Summary } from "../../../src/domain/stats/summary-shape.ts";
import { type Cluster, type ClusterNode, startCluster } from "../../cluster/cluster.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import { figure } from "../../figures.ts";
import { differingLeaves, neutralJson } from "../../golden/answers.ts";
import type { Side } from "../../golden/sides.ts";
import { ask } from "../../integration/node-metrics/scrape.ts";
import { ClusterPods } from "../../support/cluster-pods.ts";
import { DIFFERENCES } from "./setups/differences.ts";
import { LIMIT_MEBIBYTES, MEMORY_SETUPS, THRESHOLD_MEBIBYTES } from "./setups/memory.ts";
import { MEMORY, NodeUnderPressure, type Outcome, PROCESS_IDS, type Shortage } from "./setups/node-under-pressure.ts";
import { MIB, PRIORITIES, type Setup } from "./setups/plan.ts";
import { HARD_PID_SETUPS, SOFT_PID_SETUPS, THRESHOLD_BELOW } from "./setups/processes.ts";

const SHARE = Number(process.env["DECKHAND_SHARE"] ?? "1");
/** Pairs of nodes: together their pods use less than 1.5 GiB. */
const PAIRS = 3;
const START_MS = 60_000;
/** Longer than either agent needs to end pods that were deleted at once. */
const ENDED_MS = 15_000;
const SIDES = ["go", "deckhand"] as const satisfies readonly Side[];

type Outcomes = Readonly<Record<Side, Outcome>>;

const shareOf = (setups: readonly Setup[]) => setups.filter((_, index) => index % SHARE === 0);
const GROUPS = [
  { title: "memory, hard", ids: "[17.5] [17.6] [17.8]", setups: shareOf(MEMORY_SETUPS) },
  { title: "process ids, hard", ids: "[17.2] [17.5] [17.6]", setups: shareOf(HARD_PID_SETUPS) },
  { title: "process ids, soft", ids: "[17.3] [17.5] [17.6]", setups: shareOf(SOFT_PID_SETUPS) },
];
const names = GROUPS.flatMap(({ setups }) => setups.map(({ name }) => name));
const results = new Map(names.map((name) => [name, Promise.withResolvers<Outcomes | Error>()]));
const needed = new Set<string>();
const seconds: number[] = [];

/** The condition must be true in at least one report of the Go kubelet. */
const OFTEN = { evictionPressureTransitionPeriod: "5s", nodeStatusUpdateFrequency: "2s" };

let cluster: Cluster;
let pods: ClusterPods;
let working: Promise<void>;

before(async () => {
  const configuration = {
    ...OFTEN,
    enforceNodeAllocatable: ["pods"],
    kubeReserved: { memory: String((await memoryTotalBytes()) - LIMIT_MEBIBYTES * MIB) },
    evictionHard: { "memory.available": `${THRESHOLD_MEBIBYTES}Mi` },
  };
  const pair = SIDES.map((agent) => ({ agent, options: { configuration } }));
  cluster = await startCluster({ controlPlane: "full", nodes: Array.from({ length: PAIRS }, () => pair).flat() });
  pods = await ClusterPods.of(cluster);
  for (const [name, value] of Object.entries(PRIORITIES)) {
    await cluster.kubectl("create", "priorityclass", name, `--value=${value}`, "--preemption-policy=Never");
  }
  working = workAll();
});

after(async () => {
  await working;
  await pods.close();
  await cluster.down();
});

async function memoryTotalBytes(): Promise<number> {
  const text = await readFile("/proc/meminfo", "utf8");
  return Number(/^MemTotal:\s+(\d+) kB$/m.exec(text)?.[1] ?? assert.fail(text)) * 1024;
}

const nodeOf = (pair: number, side: Side): ClusterNode =>
  cluster.nodes[pair * SIDES.length + SIDES.indexOf(side)] ?? assert.fail(`pair ${pair} has two nodes`);

const outcomeOn = (pair: number, side: Side, setup: Setup, shortage: Shortage) =>
  new NodeUnderPressure(cluster, pods, nodeOf(pair, side), shortage).run(setup);

async function workAll(): Promise<void> {
  const [memory, hard, soft] = GROUPS.map(({ setups }) => [...setups]);
  const workers = Array.from({ length: PAIRS }, async (_, pair) => {
    for (let setup = memory?.shift(); setup !== undefined; setup = memory?.shift()) {
      const work = SIDES.map((side) => outcomeOn(pair, side, setup, MEMORY));
      await finish(setup, () => allEnded(work));
    }
  });
  await Promise.all(workers);
  const threshold = async () => ({ "pid.available": String((await availableProcesses()) - THRESHOLD_BELOW) });
  await workOnProcesses(hard ?? [], { evictionHard: await threshold() });
  const grace = { evictionSoftGracePeriod: { "pid.available": "5s" }, evictionMaxPodGracePeriod: 8 };
  await workOnProcesses(soft ?? [], { evictionHard: {}, evictionSoft: await threshold(), ...grace });
}

async function workOnProcesses(setups: readonly Setup[], settings: object): Promise<void> {
  if (setups.length === 0) return;
  const configuration = { ...OFTEN, ...settings };
  for (const side of SIDES) {
    const node = nodeOf(0, side);
    await cluster.changeAgent(node.name, side, { configuration });
    const answers = async () => (await ask(cluster, node, "/metrics")).status === 200;
    await waitUntil(`${node.name} to answer`, START_MS, answers, 500);
  }
  for (const setup of setups) {
    await finish(setup, async () => {
      const outcomes: Outcome[] = [];
      for (const side of SIDES) outcomes.push(await outcomeOn(0, side, setup, PROCESS_IDS));
      return outcomes;
    });
  }
}

/** Waits for both nodes even when one fails: the pair works on the next setup afterwards. */
async function allEnded<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const ended = await Promise.allSettled(work);
  return ended.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

async function finish(setup: Setup, work: () => Promise<readonly Outcome[]>): Promise<void> {
  const result = results.get(setup.name) ?? assert.fail(setup.name);
  const beginMs = performance.now();
  try {
    const [go, deckhand] = await work();
    result.resolve({ go: go ?? assert.fail(), deckhand: deckhand ?? assert.fail() });
  } catch (error) {
    result.resolve(error instanceof Error ? error : new Error(String(error)));
  }
  seconds.push((performance.now() - beginMs) / 1_000);
}

/** Once the processes of earlier pods have ended. */
async function availableProcesses(): Promise<number> {
  await pause(ENDED_MS);
  const { body } = await ask(cluster, nodeOf(0, "go"), "/stats/summary");
  const { node } = JSON.parse(body.toString()) as Pick<Summary, "node">;
  const { maxpid = 0, curproc = 0 } = node.rlimit ?? {};
  assert.ok(maxpid > curproc + THRESHOLD_BELOW, JSON.stringify(node.rlimit));
  return maxpid - curproc;
}

/** The Go kubelet's outcome with the intended differences. */
function expected(go: Outcome): Outcome {
  return DIFFERENCES.reduce((outcome, { name, rewrite }) => {
    const result = rewrite(outcome);
    if (differingLeaves(outcome, result).length > 0) needed.add(name);
    return result;
  }, go);
}

for (const { title, ids, setups } of GROUPS) {
  void suite(title, () => {
    for (const { name, victims } of setups) {
      const ending = victims.length === 0 ? "nobody is evicted" : `evicts ${victims.join(", then ")}`;
      test(`${ids} ${name}: ${ending}, as the Go kubelet does`, async () => {
        const result = await (results.get(name) ?? assert.fail(name)).promise;
        if (result instanceof Error) throw result;
        assert.deepEqual(result.go.evicted, victims, "the Go kubelet's victims");
        assert.deepEqual(differingLeaves(neutralJson(expected(result.go)), neutralJson(result.deckhand)), []);
      });
    }
  });
}

test("at least 30 setups ran, and every intended difference is needed", () => {
  if (SHARE === 1) {
    assert.ok(seconds.length >= 30, `${seconds.length} setups`);
    const unneeded = DIFFERENCES.map(({ name }) => name).filter((name) => !needed.has(name));
    assert.deepEqual(unneeded, []);
  }
  figure("setups", seconds.length, "");
  figure("a setup takes on average", Math.round(seconds.reduce((sum, each) => sum + each, 0) / seconds.length), "s");
});
