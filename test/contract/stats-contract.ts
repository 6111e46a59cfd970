/** What any Stats promises: the thread that reads the kernel's files, and the fake in `sim/`. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Stats, StatsQuestion } from "../../src/ports/stats.ts";

export interface StatsWorld {
  readonly stats: Stats;
  /** A group that is there, with two below it that have processes: "pod..." and in it one named like a container. */
  readonly group: string;
  readonly pod: string;
  readonly container: string;
  /** Takes away what is below `group`. */
  readonly empty: () => Promise<void>;
  /** A file of some bytes, and a folder that holds just that one. */
  readonly file: string;
  readonly folder: string;
  /** Lets time pass in which processes may use a CPU. */
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
  test("[21.4] the machine is always there; a group comes with all below it, each once", async () => {
    const { stats, group, pod, container } = world();
    const alone = await stats.read(NOTHING, forever);
    assert.deepEqual(
      alone.groups.map(({ id }) => id),
      ["/"],
    );
    const reading = await stats.read({ ...NOTHING, groups: [group, pod, group] }, forever);
    assert.deepEqual(reading.groups.map(({ id }) => id).sort(), ["/", group, pod, container].sort());
  });

  test("[21.2] CPU time never goes back, and memory in use is within the machine's", async () => {
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

  test("[21.3] only who asks for more is told of processes and networks, and only sandboxes have one", async () => {
    const { stats, group, container } = world();
    const id = container.slice(container.lastIndexOf("/") + 1);
    const little = await stats.read({ ...NOTHING, groups: [group] }, forever);
    assert.ok(little.groups.every(({ processes, network, io }) => processes ?? network ?? io === undefined));
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
  test("[21.9] a file is told by the disk it takes, a folder by the files directly in it; what is not there is left out", async () => {
    const { stats, file, folder } = world();
    const { files } = await stats.read({ ...NOTHING, files: [file, folder, `${folder}/none`] }, forever);
    const usage = files.get(file);
    assert.ok(usage !== undefined && usage.bytes > 0 && usage.inodes === 1);
    assert.deepEqual(files.get(folder), usage);
    assert.equal(files.has(`${folder}/none`), false);
  });

  test("a file system has room within its size", async () => {
    const { stats, folder } = world();
    const { filesystems } = await stats.read({ ...NOTHING, filesystems: [folder] }, forever);
    const room = filesystems.get(folder);
    assert.ok(room !== undefined && room.capacityBytes > 0 && room.availableBytes <= room.capacityBytes);
    assert.ok(room.freeBytes <= room.capacityBytes && room.inodesFree <= room.inodes);
  });
}

function endings(world: () => StatsWorld): void {
  test("one who has given up is not answered", async () => {
    const { stats } = world();
    await assert.rejects(stats.read(NOTHING, AbortSignal.abort(new Error("enough"))), /enough/);
  });

  test("a group that is gone is left out, and so is one that never was", async () => {
    const { stats, group, empty } = world();
    await empty();
    const { groups } = await stats.read({ ...NOTHING, groups: [group, "/deckhand-none"] }, forever);
    assert.deepEqual(groups.map(({ id }) => id).sort(), ["/", group].sort());
  });
}
