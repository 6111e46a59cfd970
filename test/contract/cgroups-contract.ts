/** What any Cgroups promises, whoever implements it: the kernel's files in either version and with either driver, and the fake in `sim/`. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { CgroupName, CgroupValues } from "../../src/domain/resources/cgroup-values.ts";
import type { Cgroups } from "../../src/ports/cgroups.ts";

export interface CgroupsWorld {
  readonly cgroups: Cgroups;
  /** Where the group "a", "b", "pod1-2" is, written out. */
  readonly podPath: string;
  /** What the group is held to, read from outside. Shares are only told apart at their two ends. */
  readonly read: (name: CgroupName) => Promise<CgroupValues>;
  /** Starts a process in the group and answers with its pid. */
  readonly start: (name: CgroupName) => Promise<number>;
  readonly isAlive: (pid: number) => Promise<boolean>;
  /** Makes what runs in the group take at least so much memory. */
  readonly fill: (name: CgroupName, bytes: bigint) => Promise<void>;
  readonly close: () => Promise<void>;
}

const forever = new AbortController().signal;

export function cgroupsContract(title: string, open: () => Promise<CgroupsWorld>): void {
  void suite(title, () => {
    let opened: CgroupsWorld | undefined;
    const world = () => {
      assert.ok(opened !== undefined, "the world is open");
      return opened;
    };
    before(async () => {
      opened = await open();
    });
    after(() => opened?.close());
    valueCases(world);
    treeCases(world);
    memoryCases(world);
    destroyCases(world);
  });
}

function valueCases(world: () => CgroupsWorld): void {
  test("[14.3] a group is made with its parents, and is there from then on", async () => {
    const { cgroups, podPath } = world();
    const name = ["a", "b", "pod1-2"];
    assert.equal(await cgroups.exists(name), false);
    await cgroups.apply(name, {});
    for (const depth of [1, 2, 3]) assert.equal(await cgroups.exists(name.slice(0, depth)), true);
    assert.equal(cgroups.pathOf(name), podPath);
  });

  test("[14.4] the values of a new group are those it was given", async () => {
    const { cgroups, read } = world();
    const values: CgroupValues = {
      cpuShares: 2,
      cpuQuotaUs: 50_000,
      cpuPeriodUs: 100_000,
      memoryLimitBytes: 67_108_864n,
      pidsMax: 1024n,
    };
    await cgroups.apply(["values"], values);
    assert.deepEqual(await read(["values"]), values);
  });

  test("[14.4] a value given later replaces the one before, and one left out stays", async () => {
    const { cgroups, read } = world();
    await cgroups.apply(["later"], { cpuShares: 2, memoryLimitBytes: 67_108_864n, pidsMax: 100n });
    await cgroups.apply(["later"], { cpuShares: 262_144, memoryLimitBytes: 134_217_728n });
    const { cpuShares, memoryLimitBytes, pidsMax } = await read(["later"]);
    assert.deepEqual(
      { cpuShares, memoryLimitBytes, pidsMax },
      {
        cpuShares: 262_144,
        memoryLimitBytes: 134_217_728n,
        pidsMax: 100n,
      },
    );
  });

  test("[14.4] -1 takes a limit away", async () => {
    const { cgroups, read } = world();
    const limited = { cpuQuotaUs: 10_000, cpuPeriodUs: 100_000, memoryLimitBytes: 67_108_864n, pidsMax: 10n };
    await cgroups.apply(["free"], limited);
    await cgroups.apply(["free"], { cpuQuotaUs: -1, cpuPeriodUs: 100_000, memoryLimitBytes: -1n, pidsMax: -1n });
    const { cpuQuotaUs, memoryLimitBytes, pidsMax } = await read(["free"]);
    assert.deepEqual(
      { cpuQuotaUs, memoryLimitBytes, pidsMax },
      {
        cpuQuotaUs: -1,
        memoryLimitBytes: -1n,
        pidsMax: -1n,
      },
    );
  });

  test("[14.4] a shorter period together with a smaller quota is taken, whatever was there", async () => {
    const { cgroups, read } = world();
    await cgroups.apply(["periods"], { cpuQuotaUs: 100_000, cpuPeriodUs: 100_000 });
    await cgroups.apply(["periods", "child"], { cpuQuotaUs: 100_000, cpuPeriodUs: 100_000 });
    await cgroups.apply(["periods", "child"], { cpuQuotaUs: 5000, cpuPeriodUs: 10_000 });
    const { cpuQuotaUs, cpuPeriodUs } = await read(["periods", "child"]);
    assert.deepEqual([cpuQuotaUs, cpuPeriodUs], [5000, 10_000]);
  });
}

function treeCases(world: () => CgroupsWorld): void {
  test("[14.3] children are the groups directly below; a group that is not there has none", async () => {
    const { cgroups } = world();
    for (const name of ["pod2-a", "pod1-b-c", "burstable"]) await cgroups.apply(["tier", name], {});
    await cgroups.apply(["tier", "burstable", "pod3"], {});
    assert.deepEqual(await cgroups.children(["tier"]), ["burstable", "pod1-b-c", "pod2-a"]);
    assert.deepEqual(await cgroups.children(["nowhere"]), []);
  });

  test("processes are those of the group and of all below it; a group that is not there has none", async () => {
    const { cgroups, start } = world();
    await cgroups.apply(["busy", "container"], {});
    const pids = [await start(["busy"]), await start(["busy", "container"])].sort((a, b) => a - b);
    assert.deepEqual(await cgroups.processes(["busy"]), pids);
    assert.deepEqual(await cgroups.processes(["nowhere"]), []);
    await cgroups.destroy(["busy"], forever);
  });
}

function memoryCases(world: () => CgroupsWorld): void {
  test("[17.2] the memory of a group is that of all below it, against its own limit", async () => {
    const { cgroups, fill } = world();
    await cgroups.apply(["full"], { memoryLimitBytes: 268_435_456n });
    await cgroups.apply(["full", "pod"], {});
    const before = await cgroups.memory(["full"]);
    assert.ok(before !== undefined && before.workingSetBytes < 16_777_216n, String(before?.workingSetBytes));
    await fill(["full", "pod"], 33_554_432n);
    const [all, pod] = [await cgroups.memory(["full"]), await cgroups.memory(["full", "pod"])];
    assert.equal(all?.limitBytes, 268_435_456n);
    assert.equal(pod?.limitBytes, undefined);
    for (const memory of [all, pod]) {
      assert.ok(memory !== undefined && memory.workingSetBytes >= 33_554_432n, String(memory?.workingSetBytes));
      assert.ok(memory.workingSetBytes < 268_435_456n, String(memory.workingSetBytes));
    }
    await cgroups.destroy(["full"], forever);
  });

  test("[17.2] a group that is not there holds nothing, which is not the same as none", async () => {
    assert.equal(await world().cgroups.memory(["nowhere"]), undefined);
  });
}

function destroyCases(world: () => CgroupsWorld): void {
  test("[14.14] to destroy a group kills what runs in it and below, and removes them all", async () => {
    const { cgroups, start, isAlive } = world();
    await cgroups.apply(["doomed", "one", "two"], {});
    await cgroups.apply(["spared"], {});
    const pids = [await start(["doomed"]), await start(["doomed", "one", "two"])];
    const spared = await start(["spared"]);
    await cgroups.destroy(["doomed"], forever);
    for (const pid of pids) assert.equal(await isAlive(pid), false);
    assert.equal(await cgroups.exists(["doomed"]), false);
    assert.equal(await isAlive(spared), true);
    assert.deepEqual(await cgroups.processes(["spared"]), [spared]);
    await cgroups.destroy(["spared"], forever);
  });

  test("[14.14] to destroy what is not there succeeds", async () => {
    await world().cgroups.destroy(["never", "was"], forever);
  });

  test("[14.14] a group that was destroyed can be made again", async () => {
    const { cgroups, read } = world();
    await cgroups.apply(["again"], { pidsMax: 10n });
    await cgroups.destroy(["again"], forever);
    await cgroups.apply(["again"], {});
    assert.equal((await read(["again"])).pidsMax, -1n);
  });
}
