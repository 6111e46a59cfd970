/** Contract suite of the Cgroups port: the kernel's files (either version, either driver) and the fake in `sim/`. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { CgroupName, CgroupValues } from "../../src/domain/resources/cgroup-values.ts";
import type { Cgroups } from "../../src/ports/cgroups.ts";

export interface CgroupsWorld {
  readonly cgroups: Cgroups;
  /** The expected path of the cgroup "a", "b", "pod1-2". */
  readonly podPath: string;
  /** The cgroup's values, read without the port. Of the shares, only the minimum and the maximum are exact. */
  readonly read: (name: CgroupName) => Promise<CgroupValues>;
  /** Starts a process in the cgroup and returns its PID. */
  readonly start: (name: CgroupName) => Promise<number>;
  readonly isAlive: (pid: number) => Promise<boolean>;
  /** Makes the processes in the cgroup use at least this much memory. */
  readonly fill: (name: CgroupName, bytes: bigint) => Promise<void>;
  /** Makes processes in the cgroup meet a limit of memory. Undefined: the kernel reports no such events (version 1). */
  readonly meetLimit: ((name: CgroupName) => Promise<void>) | undefined;
  readonly close: () => Promise<void>;
}

const [MET_TURNS, MET_EVERY_MS] = [500, 20];

/** A watch may begin after the first events. */
async function meetAgainAndAgain(meet: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let turn = 0; turn < MET_TURNS && !signal.aborted; turn += 1) {
    await meet();
    await new Promise<void>((resolve) => void setTimeout(resolve, MET_EVERY_MS));
  }
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
  test("[14.3] apply creates a cgroup with its parents", async () => {
    const { cgroups, podPath } = world();
    const name = ["a", "b", "pod1-2"];
    assert.equal(await cgroups.exists(name), false);
    await cgroups.apply(name, {});
    for (const depth of [1, 2, 3]) assert.equal(await cgroups.exists(name.slice(0, depth)), true);
    assert.equal(cgroups.pathOf(name), podPath);
  });

  test("[14.4] a new cgroup has the applied values", async () => {
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

  test("[14.4] apply replaces given values and keeps omitted ones", async () => {
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

  test("[14.4] -1 removes a limit", async () => {
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

  test("[14.4] apply accepts a shorter period with a smaller quota, whatever the previous values", async () => {
    const { cgroups, read } = world();
    await cgroups.apply(["periods"], { cpuQuotaUs: 100_000, cpuPeriodUs: 100_000 });
    await cgroups.apply(["periods", "child"], { cpuQuotaUs: 100_000, cpuPeriodUs: 100_000 });
    await cgroups.apply(["periods", "child"], { cpuQuotaUs: 5000, cpuPeriodUs: 10_000 });
    const { cpuQuotaUs, cpuPeriodUs } = await read(["periods", "child"]);
    assert.deepEqual([cpuQuotaUs, cpuPeriodUs], [5000, 10_000]);
  });
}

function treeCases(world: () => CgroupsWorld): void {
  test("[14.3] children returns the direct child cgroups, and none for a missing cgroup", async () => {
    const { cgroups } = world();
    for (const name of ["pod2-a", "pod1-b-c", "burstable"]) await cgroups.apply(["tier", name], {});
    await cgroups.apply(["tier", "burstable", "pod3"], {});
    assert.deepEqual(await cgroups.children(["tier"]), ["burstable", "pod1-b-c", "pod2-a"]);
    assert.deepEqual(await cgroups.children(["nowhere"]), []);
  });

  test("processes returns those of the cgroup and its descendants, and none for a missing cgroup", async () => {
    const { cgroups, start } = world();
    await cgroups.apply(["busy", "container"], {});
    const pids = [await start(["busy"]), await start(["busy", "container"])].sort((a, b) => a - b);
    assert.deepEqual(await cgroups.processes(["busy"]), pids);
    assert.deepEqual(await cgroups.processes(["nowhere"]), []);
    await cgroups.destroy(["busy"], forever);
  });
}

function memoryCases(world: () => CgroupsWorld): void {
  test("[17.2] memory of a cgroup includes its descendants and reports the cgroup's own limit", async () => {
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

  test("[17.2] memoryEvents hints when a limit is met in the cgroup, and ends with the signal or at once", async () => {
    const { cgroups, meetLimit } = world();
    await cgroups.apply(["met"], {});
    const stop = new AbortController();
    const hints = cgroups.memoryEvents(["met"], stop.signal)[Symbol.asyncIterator]();
    const first = hints.next();
    if (meetLimit === undefined) {
      assert.equal((await first).done, true);
    } else {
      const meeting = meetAgainAndAgain(() => meetLimit(["met"]), stop.signal);
      // The first hint may come with the watch itself.
      assert.notEqual((await first).done, true);
      assert.notEqual((await hints.next()).done, true);
      stop.abort(new Error("enough"));
      await meeting;
      while ((await hints.next()).done !== true);
    }
    await cgroups.destroy(["met"], forever);
  });

  test("[17.2] memory of a missing cgroup is undefined, not zero", async () => {
    assert.equal(await world().cgroups.memory(["nowhere"]), undefined);
  });
}

function destroyCases(world: () => CgroupsWorld): void {
  test("[14.14] destroy kills all processes in the cgroup and its descendants, and removes these cgroups", async () => {
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

  test("[14.14] destroy of a missing cgroup succeeds", async () => {
    await world().cgroups.destroy(["never", "was"], forever);
  });

  test("[14.14] a destroyed cgroup can be created again, without its old values", async () => {
    const { cgroups, read } = world();
    await cgroups.apply(["again"], { pidsMax: 10n });
    await cgroups.destroy(["again"], forever);
    await cgroups.apply(["again"], {});
    assert.equal((await read(["again"])).pidsMax, -1n);
  });
}
