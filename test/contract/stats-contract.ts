/** Contract suite of the Stats port: the thread that reads the kernel's files, and the fake in `sim/`. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Stats, StatsQuestion } from "../../src/ports/stats.ts";

export interface StatsWorld {
  readonly stats: Stats;
  /** A cgroup with two descendants that have processes: "pod...", and in it one named like a container. */
  readonly group: string;
  readonly pod: string;
  readonly container: string;
  /** Removes the cgroups below `group`. */
  readonly empty: () => Promise<void>;
  /** A non-empty file, and a directory that contains only this file. */
  readonly file: string;
  readonly directory: string;
  /** Lets time pass in which processes may use CPU. */
  readonly pass: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const forever = new AbortController().signal;
const NOTHING: StatsQuestion = { detail: "usage", groups: [], sandboxes: new Set(), filesystems: [], files: [] };

export function statsContract(title: string, open: () => Promise<StatsWorld>): void {
  void suite(title, () => {
    let opened: StatsWorld | undefined;
    const world = () => {
      assert.ok(opened !== undefined, "the world is open");
      return opened;
    };
    before(async () => {
      opened = await open();
    });
    after(() => opened?.close());
    readings(world);
    surroundings(world);
    endings(world);
  });
}

function readings(world: () => StatsWorld): void {
  test("[21.4] read always returns the root cgroup, and each requested cgroup once with its descendants", async () => {
    const { stats, group, pod, container } = world();
    const alone = await stats.read(NOTHING, forever);
    assert.deepEqual(
      alone.groups.map(({ id }) => id),
      ["/"],
    );
    const reading = await stats.read({ ...NOTHING, groups: [group, pod, group] }, forever);
    assert.deepEqual(reading.groups.map(({ id }) => id).sort(), ["/", group, pod, container].sort());
  });

  test("[21.2] CPU time never decreases, and memory usage is below the machine's memory", async () => {
    const { stats, group, pass } = world();
    const first = await stats.read({ ...NOTHING, groups: [group] }, forever);
    await pass();
    const second = await stats.read({ ...NOTHING, groups: [group] }, forever);
    assert.ok(second.readWallMs > first.readWallMs);
    for (const later of second.groups) {
      const earlier = first.groups.find(({ id }) => id === later.id);
      assert.ok(earlier?.cpu !== undefined && later.cpu !== undefined && later.memory !== undefined, later.id);
      assert.ok(later.cpu.usageNs >= earlier.cpu.usageNs && later.readWallMs > earlier.readWallMs, later.id);
      assert.equal(later.createdWallMs, earlier.createdWallMs);
      assert.ok(later.createdWallMs <= later.readWallMs && later.createdWallMs >= second.bootedWallMs - 60_000);
      assert.ok(later.memory.usageBytes >= 0);
    }
    const machine = second.groups.find(({ id }) => id === "/")?.memory;
    assert.ok(machine !== undefined && machine.usageBytes > 0 && machine.usageBytes < machine.limitBytes);
  });

  test("[21.3] only summary and everything include processes and networks, and only the machine and sandboxes have networks", async () => {
    const { stats, group, container } = world();
    const id = container.slice(container.lastIndexOf("/") + 1);
    const little = await stats.read({ ...NOTHING, groups: [group] }, forever);
    for (const { processes, network, io } of little.groups) {
      assert.deepEqual([processes, network, io], [undefined, undefined, undefined]);
    }
    const more = await stats.read(
      { ...NOTHING, detail: "summary", groups: [group], sandboxes: new Set([id]) },
      forever,
    );
    const networks = more.groups.filter(({ network }) => network !== undefined).map((each) => each.id);
    assert.deepEqual(networks.sort(), ["/", container].sort());
    assert.equal(more.groups.find((each) => each.id === container)?.processes?.processes, 1);
    assert.deepEqual(more.mounts, []);
    const all = await stats.read({ ...NOTHING, detail: "everything", groups: [group] }, forever);
    assert.ok(all.mounts.length > 0 && all.mounts.every(({ capacityBytes, freeBytes }) => freeBytes <= capacityBytes));
  });
}

function surroundings(world: () => StatsWorld): void {
  test("[21.9] read returns the disk usage of a file and of the files directly in a directory, and omits missing paths", async () => {
    const { stats, file, directory } = world();
    const { files } = await stats.read({ ...NOTHING, files: [file, directory, `${directory}/none`] }, forever);
    const usage = files.get(file);
    assert.ok(usage !== undefined && usage.bytes > 0 && usage.inodes === 1);
    assert.deepEqual(files.get(directory), usage);
    assert.equal(files.has(`${directory}/none`), false);
  });

  test("available and free space of a file system are within its capacity", async () => {
    const { stats, directory } = world();
    const { filesystems } = await stats.read({ ...NOTHING, filesystems: [directory] }, forever);
    const room = filesystems.get(directory);
    assert.ok(room !== undefined && room.capacityBytes > 0 && room.availableBytes <= room.capacityBytes);
    assert.ok(room.freeBytes <= room.capacityBytes && room.inodesFree <= room.inodes);
  });
}

function endings(world: () => StatsWorld): void {
  test("read with an aborted signal rejects with its reason", async () => {
    const { stats } = world();
    await assert.rejects(stats.read(NOTHING, AbortSignal.abort(new Error("enough"))), /enough/);
  });

  test("read omits removed and missing cgroups", async () => {
    const { stats, group, empty } = world();
    await empty();
    const { groups } = await stats.read({ ...NOTHING, groups: [group, "/deckhand-none"] }, forever);
    assert.deepEqual(groups.map(({ id }) => id).sort(), ["/", group].sort());
  });
}
