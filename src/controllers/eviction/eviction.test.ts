import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { machineFacts } from "../../../test/support/node-world.ts";
import { parseThresholds } from "../../app/options/eviction-thresholds.ts";
import { Registry } from "../../base/metrics/registry.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import { NO_RECLAIM_REQUESTS, NOTHING_RECLAIMED } from "../../domain/eviction/reclaim.ts";
import { evictionThresholds } from "../../domain/eviction/thresholds.ts";
import { evictionMetrics } from "../../domain/metrics/eviction-metrics.ts";
import type { Pressure } from "../../domain/node/conditions.ts";
import { NO_PRESSURE, NOTHING_MEASURED, type NodeUsage } from "../../domain/node/pressure.ts";
import type { CgroupMemory, Cgroups } from "../../ports/cgroups.ts";
import { runNodeUsage } from "../stats/node-usage.ts";
import { EvictionLoop } from "./eviction.ts";

const GIB = 2n ** 30n;

function world(statements: Readonly<Record<string, string>>, { enforcesPods = true, away = false } = {}) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const pressure = new LatestCell<Pressure>(NO_PRESSURE);
  const troubles: string[] = [];
  const asked = { images: 0 };
  const disk = (available: bigint) => ({
    device: "d",
    capacityBytes: 100n * GIB,
    availableBytes: available,
    inodes: 1000n,
    inodesFree: 900n,
  });
  const machine = {
    used: 1n * GIB,
    processes: 100,
    disks: new Map([
      ["/root", disk(90n * GIB)],
      ["/images", disk(90n * GIB)],
    ]),
    facts: async () => ({ ...machineFacts, memoryBytes: 8n * GIB }),
    memoryWorkingSetBytes: async () => machine.used,
    memoryAvailableBytes: async () => 8n * GIB - machine.used,
    processCount: async () => machine.processes,
    filesystem: async (path: string) => machine.disks.get(path) ?? Promise.reject(new Error(`no ${path}`)),
  };
  const images = {
    away,
    imageFilesystems: async () => {
      if (images.away) throw new Error("unavailable");
      asked.images += 1;
      return { images: [{ wallNs: 0n, mountpoint: "/images" }], containers: [] };
    },
  };
  const kubepods: { value: CgroupMemory | undefined } = { value: { workingSetBytes: 0n, limitBytes: 4n * GIB } };
  const cgroups = new LatestCell<{ readonly pods: Pick<Cgroups, "memory" | "memoryEvents"> } | undefined>(undefined);
  cgroups.set({
    pods: {
      memory: async (name) => (name.join("/") === "kubepods" ? kubepods.value : undefined),
      memoryEvents: async function* () {},
    },
  });
  const settings = { hard: parseThresholds(statements), soft: [], minReclaims: new Map() };
  const thresholds = evictionThresholds(settings, { enforcesPods, layout: "shared" });
  const nodeUsage = new LatestCell<NodeUsage>(NOTHING_MEASURED);
  const log = { info: () => {}, error: (_m: string, error: unknown) => void troubles.push(String(error)) };
  const running = Promise.all([
    runNodeUsage(
      {
        cgroups,
        machine,
        images,
        clock,
        log,
        nodeUsage,
        heartbeat: { beat: () => {} },
        rootDirectory: "/root",
        signals: new Set(thresholds.map(({ signal }) => signal)),
        thresholds,
        needsLayout: false,
        reclaimed: [],
        memorySignal: "working-set",
      },
      stop.signal,
    ),
    new EvictionLoop({
      nodeUsage,
      pressure,
      clock,
      log,
      events: { emit: () => assert.fail("no pod is known, so nothing is evicted") },
      journal: { note: () => {} },
      metrics: evictionMetrics(new Registry()),
      sourcesReady: new LatestCell(false),
      admittedPods: new LatestTable(),
      podOutcomes: new LatestTable(),
      evictions: new LatestTable(),
      reclaimRequests: new LatestCell(NO_RECLAIM_REQUESTS),
      imagesReclaimed: new LatestCell(NOTHING_RECLAIMED),
      containersReclaimed: new LatestCell(NOTHING_RECLAIMED),
      usage: { usageSummary: () => assert.fail("not needed"), summary: () => assert.fail("not needed") },
      settings: {
        ...settings,
        nodeName: "n1",
        enforcesPods,
        conditionHoldMs: 300_000,
        maxPodGraceSeconds: 0,
        localStorage: true,
        memorySignal: "working-set",
      },
    }).run(stop.signal),
  ]);
  const end = async () => {
    stop.abort();
    await running;
    assert.equal(clock.timersPending, 0);
  };
  return { clock, pressure, machine, kubepods, images, asked, troubles, disk, end };
}

const ALL = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "imagefs.available": "15%",
  "pid.available": "10%",
};

test("[17.2] a shortage of memory, disk or PIDs is detected within ten seconds and sets its own pressure", async () => {
  const w = world(ALL);
  await w.clock.advance(0);
  assert.deepEqual(w.pressure.value, NO_PRESSURE);
  w.machine.used = 8n * GIB - 1n;
  await w.clock.advance(10_000);
  assert.deepEqual(w.pressure.value, { memory: true, disk: false, pid: false });
  w.machine.disks.set("/images", w.disk(14n * GIB));
  await w.clock.advance(10_000);
  assert.deepEqual(w.pressure.value, { memory: true, disk: true, pid: false });
  w.machine.processes = 32_000;
  await w.clock.advance(10_000);
  assert.deepEqual(w.pressure.value, { memory: true, disk: true, pid: true });
  await w.end();
});

test("[17.2] memory pressure begins when pods have less than memory.available left below the kubepods limit", async () => {
  const w = world({ "memory.available": "100Mi" });
  w.kubepods.value = { workingSetBytes: 4n * GIB - 100n * 2n ** 20n, limitBytes: 4n * GIB };
  await w.clock.advance(0);
  assert.equal(w.pressure.value.memory, false, "100Mi are left");
  w.kubepods.value = { workingSetBytes: 4n * GIB - 100n * 2n ** 20n + 1n, limitBytes: 4n * GIB };
  await w.clock.advance(10_000);
  assert.equal(w.pressure.value.memory, true);
  await w.end();
});

test("[17.2] a percentage threshold refers to the kubepods limit, and usage above the limit leaves nothing available", async () => {
  const w = world({ "memory.available": "25%" });
  w.kubepods.value = { workingSetBytes: 3n * GIB, limitBytes: 4n * GIB };
  await w.clock.advance(0);
  assert.equal(w.pressure.value.memory, false);
  w.kubepods.value = { workingSetBytes: 5n * GIB, limitBytes: 4n * GIB };
  await w.clock.advance(10_000);
  assert.equal(w.pressure.value.memory, true);
  await w.end();
});

for (const [name, enforces, memory] of [
  ["enforceNodeAllocatable does not list pods", false, { workingSetBytes: 4n * GIB, limitBytes: 4n * GIB }],
  ["kubepods has no memory limit", true, { workingSetBytes: 4n * GIB, limitBytes: undefined }],
  ["the kubepods cgroup does not exist yet", true, undefined],
] as const) {
  test(`[17.2] pods cause no memory pressure if ${name}`, async () => {
    const w = world({ "memory.available": "100Mi" }, { enforcesPods: enforces });
    w.kubepods.value = memory;
    await w.clock.advance(10_000);
    assert.deepEqual([w.pressure.value, w.troubles], [NO_PRESSURE, []]);
    await w.end();
  });
}

test("[17.8] pressure is kept for five minutes after the shortage ends; the cell is written only on changes", async () => {
  const w = world(ALL);
  w.machine.used = 8n * GIB;
  await w.clock.advance(0);
  w.machine.used = 1n * GIB;
  await w.clock.advance(299_999);
  assert.equal(w.pressure.value.memory, true);
  await w.clock.advance(1);
  assert.equal(w.pressure.value.memory, false);
  assert.equal(w.pressure.version, 2);
  await w.end();
});

test("[17.2] a failed measurement is logged and does not hide other shortages", async () => {
  const w = world(ALL);
  w.machine.disks.delete("/root");
  w.machine.disks.set("/images", w.disk(1n));
  await w.clock.advance(0);
  assert.deepEqual(w.pressure.value, { memory: false, disk: true, pid: false });
  assert.deepEqual(w.troubles, ["Error: no /root"]);
  await w.end();
});

test("[17.2] image file systems are requested until the runtime responds, then again after ten minutes", async () => {
  const w = world({ "imagefs.available": "15%" }, { away: true });
  w.machine.disks.set("/images", w.disk(1n));
  await w.clock.advance(20_000);
  assert.equal(w.pressure.value.disk, false);
  w.images.away = false;
  await w.clock.advance(10_000);
  assert.equal(w.pressure.value.disk, true);
  await w.clock.advance(280_000);
  assert.equal(w.asked.images, 1);
  await w.clock.advance(330_000);
  assert.equal(w.asked.images, 2, "after ten minutes");
  await w.end();
});

test("a file system that reports no inodes causes no inode pressure", async () => {
  const w = world({ "nodefs.inodesFree": "5%" });
  w.machine.disks.set("/root", { ...w.disk(GIB), inodes: 0n, inodesFree: 0n });
  await w.clock.advance(10_000);
  assert.equal(w.pressure.value.disk, false);
  await w.end();
});
