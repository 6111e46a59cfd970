/**
 * The guarantee of the test harness: clusters start in time and are removed without a trace, even if the process that
 * creates them is killed at any moment.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { SeededRandom } from "../../sim/seeded-random.ts";
import { startCluster } from "../cluster/cluster.ts";
import { down } from "../cluster/down.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { readRecord } from "../cluster/record.ts";
import { pause } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { bare, CLI, leftOf, runPod, slotsOf } from "../integration/cluster-world.ts";
import { seed, wholeSize } from "../size.ts";

const CYCLES = wholeSize() ? 20 : 2;
const KILLS = wholeSize() ? 30 : 3;
/** The whole size runs alone; the small size runs beside another test that starts two clusters. */
const UP_MS_MAX = wholeSize() ? 30_000 : 60_000;

const seconds = (ms: number) => Math.round(ms / 100) / 10;

/** Median startup time in the cycles; kills come at a random moment within this time. */
let typicalUpMs = 10_000;

test(`${CYCLES} times a cluster with the Go kubelet starts in time, runs a pod and leaves nothing behind`, async () => {
  const upsMs: number[] = [];
  const left: string[] = [];
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    const startedMs = performance.now();
    const cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "go" }] });
    upsMs.push(performance.now() - startedMs);
    try {
      await runPod(cluster, "pod", BUSYBOX_IMAGE, "sleep", "3600");
    } finally {
      await cluster.down();
    }
    left.push(...(await leftOf(cluster.layout.name)));
  }
  upsMs.sort((a, b) => a - b);
  typicalUpMs = upsMs[Math.floor((upsMs.length - 1) / 2)] ?? typicalUpMs;
  const slowestMs = upsMs.at(-1) ?? Number.POSITIVE_INFINITY;
  figure("up, p50", seconds(typicalUpMs), "s");
  figure("up, slowest", seconds(slowestMs), "s");
  figure("left behind by all cycles", left.length, "things");
  assert.deepEqual(left, []);
  // The test beside this one may occupy the machine during one of the startups.
  const judgedMs = wholeSize() ? slowestMs : (upsMs[0] ?? Number.POSITIVE_INFINITY);
  assert.ok(judgedMs <= UP_MS_MAX, `ups took ${upsMs.map(Math.round).join(" and ")} ms`);
});

test(`startup killed at a random moment, ${KILLS} times, leaves nothing behind, and the next one works`, async (t) => {
  t.diagnostic(`seed ${seed()}`);
  const random = new SeededRandom(seed());
  const name = "killed-proof";
  const left: string[] = [];
  let [kills, withoutParts, partsMost] = [0, 0, 0];
  for (let attempt = 0; kills < KILLS; attempt += 1) {
    assert.ok(attempt < 2 * KILLS + 2, `of ${attempt} ups only ${kills} could be killed before they ended`);
    const up = spawn(process.execPath, [CLI, "--name", name, "up", "--agent", "go"], { stdio: "ignore" });
    const exited = once(up, "exit");
    await pause(random.fraction() * typicalUpMs);
    up.kill("SIGKILL");
    await exited;
    const record = await readRecord(name);
    if (record?.complete === true) {
      await down(name);
      continue;
    }
    kills += 1;
    const parts = record?.components.length ?? 0;
    if (parts === 0) withoutParts += 1;
    partsMost = Math.max(partsMost, parts);
    // Alternates between both ways to clean up: the next `up` of that name, and `down`.
    if (kills % 2 === 0 && (await slotsOf(name)).length > 0) await down(name);
    await (await bare(name)).down();
    left.push(...(await leftOf(name)));
  }
  figure("ups killed", kills, "kills");
  figure("of them before any part had started", withoutParts, "kills");
  figure("most parts running at a kill", partsMost, "parts");
  figure("left behind by all kills", left.length, "things");
  assert.deepEqual(left, []);
});
