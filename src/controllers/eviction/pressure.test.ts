import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { machineFacts } from "../../../test/support/node-world.ts";
import { parseThresholds } from "../../app/options/eviction-thresholds.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { Pressure } from "../../domain/node/conditions.ts";
import { NO_PRESSURE, type Observations, signalsOf } from "../../domain/node/pressure.ts";
import type { CgroupMemory, Cgroups } from "../../ports/cgroups.ts";
import { runNodeUsage } from "../stats/node-usage.ts";
import { runPressure } from "./pressure.ts";

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
  const cgroups = new LatestCell<{ readonly pods: Pick<Cgroups, "memory"> } | undefined>(undefined);
  cgroups.set({ pods: { memory: async (name) => (name.join("/") === "kubepods" ? kubepods.value : undefined) } });
  const thresholds = parseThresholds(statements);
  const nodeUsage = new LatestCell<Observations>(new Map());
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
        watch: { turned: () => {} },
        rootDirectory: "/root",
        signals: signalsOf(thresholds, enforcesPods),
      },
      stop.signal,
    ),
    runPressure({ nodeUsage, pressure, clock, log, thresholds, holdMs: 300_000 }, stop.signal),
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

test("[17.2] each shortage is seen within ten seconds and shows as its own condition", async () => {
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

test("[17.2] pods that together use up what they may are a shortage of memory, by the machine's own threshold", async () => {
  const w = world({ "memory.available": "100Mi" });
  w.kubepods.value = { workingSetBytes: 4n * GIB - 100n * 2n ** 20n, limitBytes: 4n * GIB };
  await w.clock.advance(0);
  assert.equal(w.pressure.value.memory, false, "a hundred are left");
  w.kubepods.value = { workingSetBytes: 4n * GIB - 100n * 2n ** 20n + 1n, limitBytes: 4n * GIB };
  await w.clock.advance(10_000);
  assert.equal(w.pressure.value.memory, true);
  await w.end();
});

test("[17.2] a share of it is a share of the pods' limit, and more than the limit is none left", async () => {
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
  ["are not held to a limit by the operator's wish", false, { workingSetBytes: 4n * GIB, limitBytes: 4n * GIB }],
  ["have no limit", true, { workingSetBytes: 4n * GIB, limitBytes: undefined }],
  ["have no group yet", true, undefined],
] as const) {
  test(`[17.2] pods that ${name} are no shortage`, async () => {
    const w = world({ "memory.available": "100Mi" }, { enforcesPods: enforces });
    w.kubepods.value = memory;
    await w.clock.advance(10_000);
    assert.deepEqual([w.pressure.value, w.troubles], [NO_PRESSURE, []]);
    await w.end();
  });
}

test("[17.8] a shortage that is over is held for five minutes; the cell changes only when the answer does", async () => {
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

test("[17.2] what cannot be measured is reported and hides nothing else", async () => {
  const w = world(ALL);
  w.machine.disks.delete("/root");
  w.machine.disks.set("/images", w.disk(1n));
  await w.clock.advance(0);
  assert.deepEqual(w.pressure.value, { memory: false, disk: true, pid: false });
  assert.deepEqual(w.troubles, ["Error: no /root"]);
  await w.end();
});

test("[17.2] a runtime that is away is asked again where its images are, and then left alone", async () => {
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

test("a file system that does not count its inodes cannot run out of them", async () => {
  const w = world({ "nodefs.inodesFree": "5%" });
  w.machine.disks.set("/root", { ...w.disk(GIB), inodes: 0n, inodesFree: 0n });
  await w.clock.advance(10_000);
  assert.equal(w.pressure.value.disk, false);
  await w.end();
});
