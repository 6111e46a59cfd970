import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { FakeCgroups } from "../../../sim/fake-cgroups.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { machineFacts } from "../../../test/support/node-world.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { parseThresholds } from "../../app/options/eviction-thresholds.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { evictionThresholds } from "../../domain/eviction/thresholds.ts";
import { NOTHING_MEASURED, type NodeUsage } from "../../domain/node/pressure.ts";
import { runNodeUsage } from "./node-usage.ts";

const GIB = 2n ** 30n;

/** Records every published value. */
class Published extends LatestCell<NodeUsage> {
  readonly values: NodeUsage[] = [];

  override set(value: NodeUsage): void {
    this.values.push(value);
    super.set(value);
  }
}

function world(thresholds: Readonly<Record<string, string>>, { available = 4n * GIB, needsLayout = false } = {}) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const nodeUsage = new Published(NOTHING_MEASURED);
  const reclaimed = new LatestCell(0);
  const pods = new FakeCgroups();
  const state = { available, reads: 0, statfsMs: 0, imagesAnswer: true, containers: [] as string[], beats: 0 };
  const machine = {
    facts: async () => ({ ...machineFacts, memoryBytes: 8n * GIB }),
    memoryWorkingSetBytes: async () => {
      state.reads += 1;
      return 8n * GIB - state.available;
    },
    memoryAvailableBytes: async () => 5n * GIB,
    processCount: async () => 1,
    filesystem: async (path: string) => {
      if (state.statfsMs > 0) await new Promise<void>((resolve) => void clock.after(state.statfsMs, resolve));
      return { device: path, capacityBytes: 100n * GIB, availableBytes: 50n * GIB, inodes: 9n, inodesFree: 8n };
    },
  };
  const images = {
    imageFilesystems: () =>
      state.imagesAnswer
        ? Promise.resolve({
            images: [{ wallNs: 0n, mountpoint: "/images" }],
            containers: state.containers.map((mountpoint) => ({ wallNs: 0n, mountpoint })),
          })
        : new Promise<never>(() => {}),
  };
  const all = evictionThresholds(
    { hard: parseThresholds(thresholds), soft: [], minReclaims: new Map() },
    { enforcesPods: false, layout: "shared" },
  );
  const start = (memorySignal: "working-set" | "mem-available" = "working-set") =>
    runNodeUsage(
      {
        machine,
        images,
        cgroups: new LatestCell({ pods }),
        clock,
        log: keptLog(),
        nodeUsage,
        reclaimed: [reclaimed],
        rootDirectory: "/root",
        signals: new Set(all.map(({ signal }) => signal)),
        needsLayout,
        thresholds: all,
        memorySignal,
        heartbeat: { beat: () => void (state.beats += 1) },
      },
      stop.signal,
    );
  return { clock, stop, nodeUsage, reclaimed, state, pods, start };
}

void suite("usage of the node", () => {
  test("[17.2] reads memory every second, and every 250 ms while less than 1 GiB is left above a threshold", async () => {
    const w = world({ "memory.available": "100Mi" });
    const running = w.start();
    await w.clock.advance(10_000);
    assert.ok(w.state.reads >= 10 && w.state.reads <= 12, String(w.state.reads));
    w.state.available = GIB;
    await w.clock.advance(1_000);
    const before = w.state.reads;
    await w.clock.advance(10_000);
    assert.ok(w.state.reads - before >= 39, String(w.state.reads - before));
    w.stop.abort();
    await running;
  });

  test("[17.2] reads memory at once when a pod met a limit, and at most ten times a second", async () => {
    const w = world({ "memory.available": "100Mi" });
    const running = w.start();
    await w.clock.advance(500);
    const before = w.state.reads;
    w.pods.meetLimit(["kubepods", "burstable", "pod1"]);
    await w.clock.advance(0);
    assert.equal(w.state.reads - before, 1);
    for (let turn = 0; turn < 100; turn += 1) {
      w.pods.meetLimit(["kubepods"]);
      await w.clock.advance(10);
    }
    const during = w.state.reads - before - 1;
    assert.ok(during >= 9 && during <= 12, `${during} reads in a second`);
    w.pods.meetLimit(["system"]);
    await w.clock.advance(150);
    assert.ok(w.state.reads - before - 1 - during <= 1);
    w.stop.abort();
    await running;
  });

  test("[17.2] mem-available takes the kernel's estimate", async () => {
    const w = world({ "memory.available": "100Mi" });
    const running = w.start("mem-available");
    await w.clock.advance(0);
    assert.equal(w.nodeUsage.value.observations.get("memory.available")?.available, 5n * GIB);
    assert.equal(w.state.reads, 0);
    w.stop.abort();
    await running;
  });

  test("a runtime that does not answer delays no measurement of memory and of nodefs", async () => {
    const w = world({ "memory.available": "100Mi", "nodefs.available": "10%", "imagefs.available": "10%" });
    w.state.imagesAnswer = false;
    const running = w.start();
    await w.clock.advance(25_000);
    const { observations, layout } = w.nodeUsage.value;
    assert.equal(observations.get("memory.available")?.atMonotonicMs, 25_000);
    assert.equal(observations.get("nodefs.available")?.atMonotonicMs, 20_000);
    assert.deepEqual([observations.has("imagefs.available"), layout], [false, undefined]);
    w.stop.abort();
    await w.clock.advance(0);
    void running;
  });

  test("no value is published without a signal while that signal is measured again", async () => {
    const w = world({ "memory.available": "100Mi", "nodefs.available": "10%" });
    const running = w.start();
    await w.clock.advance(1_000);
    w.state.statfsMs = 3_000;
    const from = w.nodeUsage.values.length;
    await w.clock.advance(40_000);
    const later = w.nodeUsage.values.slice(from);
    assert.ok(later.length > 20);
    assert.ok(later.every(({ observations }) => observations.has("nodefs.available")));
    w.stop.abort();
    await w.clock.advance(3_000);
    await running;
  });

  test("[17.2] the layout is known without a threshold of imagefs, and a reclaim measures at once", async () => {
    const w = world({ "nodefs.available": "10%" });
    const running = w.start();
    await w.clock.advance(0);
    assert.equal(w.nodeUsage.value.layout, "imagefs", "the devices differ");
    await w.clock.advance(2_000);
    w.reclaimed.set(1);
    await w.clock.advance(0);
    assert.equal(w.nodeUsage.value.observations.get("nodefs.available")?.atMonotonicMs, 2_000);
    w.stop.abort();
    await running;
  });

  test("[9.13] writable layers on a file system of their own are measured there, before the layout is published", async () => {
    const w = world({ "nodefs.available": "10%", "imagefs.available": "10%" });
    w.state.containers = ["/containers"];
    const running = w.start();
    await w.clock.advance(0);
    const { observations, layout } = w.nodeUsage.value;
    assert.equal(layout, "split");
    assert.equal(observations.get("containerfs.available")?.available, 50n * GIB);
    assert.ok(w.nodeUsage.values.every((value) => value.layout !== "imagefs"));
    w.stop.abort();
    await running;
  });
});
