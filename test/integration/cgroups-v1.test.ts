/** Tests the kernel's cgroup v1 below the test's own parent cgroup, in every hierarchy of the machine. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { QosReserve } from "../../src/controllers/resources/qos-reserve.ts";
import type { CgroupName } from "../../src/domain/resources/cgroup-values.ts";
import type { Cgroups } from "../../src/ports/cgroups.ts";
import { createCgroups } from "../../src/wire/cgroupfs/cgroups.ts";
import { cgroupfsDriver } from "../../src/wire/cgroupfs/driver.ts";
import { type Hierarchies, parseHierarchies } from "../../src/wire/cgroupfs/hierarchies.ts";
import { hostTree } from "../../src/wire/cgroupfs/tree.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { cgroupsLeft, removeCgroup } from "../cluster/cgroups.ts";
import { cgroupsContract } from "../contract/cgroups-contract.ts";

const forever = new AbortController().signal;
const UNLIMITED = 2n ** 63n - 4096n;

async function machine(): Promise<Extract<Hierarchies, { version: 1 }>> {
  const hierarchies = parseHierarchies(await readFile("/proc/self/mounts", "utf8"));
  assert.ok(hierarchies.version === 1, "this suite is for a machine with cgroup v1");
  return hierarchies;
}

interface Opened {
  readonly cgroups: Cgroups;
  readonly mounts: Extract<Hierarchies, { version: 1 }>["mounts"];
  readonly parent: string;
  readonly text: (name: CgroupName, controller: string, file: string) => Promise<string>;
  readonly start: (name: CgroupName) => Promise<number>;
  /** Starts a process in the cgroup that uses this much memory. */
  readonly fill: (name: CgroupName, bytes: bigint) => Promise<void>;
  readonly close: () => Promise<void>;
}

async function open(label: string): Promise<Opened> {
  const hierarchies = await machine();
  const parent = `deckhand-${label}-${process.pid}`;
  const cgroups = createCgroups({
    hierarchies,
    root: [parent],
    driver: cgroupfsDriver,
    tree: hostTree,
    clock: hostClock,
  });
  const directory = (controller: string, name: CgroupName) => {
    const mount = hierarchies.mounts.find(({ controllers }) => controllers.includes(controller));
    return join(mount?.path ?? "", cgroups.pathOf(name));
  };
  await cgroups.apply([], {});
  return {
    cgroups,
    mounts: hierarchies.mounts,
    parent: `/${parent}`,
    text: async (name, controller, file) => (await readFile(join(directory(controller, name), file), "utf8")).trim(),
    async start(name) {
      const child = spawn("sleep", ["300"], { stdio: "ignore" });
      await new Promise((resolve) => child.once("spawn", resolve));
      for (const { path } of hierarchies.mounts) {
        await writeFile(join(path, cgroups.pathOf(name), "cgroup.procs"), String(child.pid));
      }
      return child.pid ?? 0;
    },
    async fill(name, bytes) {
      const held = `Buffer.alloc(${bytes}, 1); process.stdout.write("ready"); setInterval(() => kept, 1e9)`;
      // The process joins the cgroup before it allocates: memory is charged to the cgroup that first touches it.
      const code = `process.stdin.once("data", () => { globalThis.kept = ${held}; })`;
      const child = spawn(process.execPath, ["-e", code], { stdio: ["pipe", "pipe", "ignore"] });
      await new Promise((resolve) => child.once("spawn", resolve));
      for (const { path } of hierarchies.mounts) {
        await writeFile(join(path, cgroups.pathOf(name), "cgroup.procs"), String(child.pid));
      }
      child.stdin.end("go");
      await new Promise((resolve) => child.stdout.once("data", resolve));
    },
    async close() {
      for (const child of await cgroups.children([])) await cgroups.destroy([child], forever);
      await removeCgroup(`/${parent}`);
      assert.deepEqual(await cgroupsLeft(`/${parent}`), []);
    },
  };
}

/** False for a process that has terminated, including a zombie. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return stat !== undefined && !/\) [ZX] /.test(stat);
}

cgroupsContract("cgroup v1 of the kernel keeps the contract of Cgroups", async () => {
  const { cgroups, parent, text, start, fill, close } = await open("contract");
  return {
    cgroups,
    podPath: `${parent}/a/b/pod1-2`,
    async read(name) {
      const memory = BigInt(await text(name, "memory", "memory.limit_in_bytes"));
      const pids = await text(name, "pids", "pids.max");
      return {
        cpuShares: Number(await text(name, "cpu", "cpu.shares")),
        cpuQuotaUs: Number(await text(name, "cpu", "cpu.cfs_quota_us")),
        cpuPeriodUs: Number(await text(name, "cpu", "cpu.cfs_period_us")),
        memoryLimitBytes: memory >= UNLIMITED ? -1n : memory,
        pidsMax: pids === "max" ? -1n : BigInt(pids),
      };
    },
    start,
    isAlive,
    fill,
    meetLimit: undefined,
    close,
  };
});

void suite("cgroup v1 of the kernel", () => {
  let opened: Opened;
  before(async () => {
    opened = await open("v1");
  });
  after(() => opened.close());

  test("[14.3] a cgroup has a directory in every hierarchy, with the CPUs and memory nodes of its parent", async () => {
    const { cgroups, mounts, text } = opened;
    await cgroups.apply(["kubepods", "burstable", "pod1"], {});
    for (const { path } of mounts) {
      assert.equal(await hostTree.isGroup(join(path, cgroups.pathOf(["kubepods", "burstable", "pod1"]))), true, path);
    }
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      const all = (await readFile(join("/sys/fs/cgroup/cpuset", file), "utf8")).trim();
      assert.equal(await text(["kubepods", "burstable", "pod1"], "cpuset", file), all, file);
    }
  });

  test("[14.3] a cgroup without its directory in one hierarchy does not exist", async () => {
    const { cgroups } = opened;
    await cgroups.apply(["torn"], {});
    await hostTree.remove(join("/sys/fs/cgroup/pids", cgroups.pathOf(["torn"])));
    assert.equal(await cgroups.exists(["torn"]), false);
    await cgroups.apply(["torn"], { pidsMax: 7n });
    assert.equal(await cgroups.exists(["torn"]), true);
    assert.equal(await opened.text(["torn"], "pids", "pids.max"), "7");
  });

  test("[14.4] values that the kernel rounds are accepted as rounded, and not written again", async () => {
    const writes: string[] = [];
    const tree = {
      ...hostTree,
      write: (path: string, text: string) => {
        writes.push(text);
        return hostTree.write(path, text);
      },
    };
    const root = opened.cgroups.pathOf([]).split("/").filter(Boolean);
    const cgroups = createCgroups({
      hierarchies: await machine(),
      root,
      driver: cgroupfsDriver,
      tree,
      clock: hostClock,
    });
    const values = {
      memoryLimitBytes: 123_456_789n,
      cpuShares: 3,
      cpuQuotaUs: 1000,
      cpuPeriodUs: 100_000,
      pidsMax: 0n,
    };
    await cgroups.apply(["odd"], values);
    assert.equal(await opened.text(["odd"], "memory", "memory.limit_in_bytes"), "123453440");
    assert.equal(await opened.text(["odd"], "pids", "pids.max"), "1");
    writes.length = 0;
    await cgroups.apply(["odd"], values);
    assert.deepEqual(writes, []);
  });

  test("[14.4] an error of the kernel names cgroup and file, and the other values are still set", async () => {
    const { cgroups, text } = opened;
    await cgroups.apply(["tight"], { cpuQuotaUs: 10_000, cpuPeriodUs: 100_000 });
    await assert.rejects(cgroups.apply(["tight", "child"], { cpuQuotaUs: 50_000, cpuShares: 77, pidsMax: 9n }), {
      message: /^cgroup \/deckhand-v1-\d+\/tight\/child: cannot write 50000 to cpu\.cfs_quota_us: EINVAL/,
    });
    assert.equal(await text(["tight", "child"], "cpu", "cpu.shares"), "77");
    assert.equal(await text(["tight", "child"], "pids", "pids.max"), "9");
  });

  test("[14.15] QoS cgroups get the limits that the reservation leaves them; one that uses more gets what it uses", async () => {
    const { cgroups, text, fill } = opened;
    const MIB = 2 ** 20;
    const errors: unknown[] = [];
    const reserve = new QosReserve(50n, { info: () => {}, error: (_message, error) => errors.push(error) });
    const limitOf = async (tier: string) =>
      Number(await text(["kubepods", tier], "memory", "memory.limit_in_bytes")) / MIB;
    const podOf = (memory: string, limited: boolean): Pod => {
      const requests = { cpu: "1", memory };
      return { spec: { containers: [{ name: "a", resources: { requests, ...(limited && { limits: requests }) } }] } };
    };
    const pods = [podOf("200Mi", true), podOf("100Mi", false)];
    for (const tier of ["burstable", "besteffort"]) await cgroups.apply(["kubepods", tier], {});
    await reserve.apply(cgroups, pods, BigInt(1000 * MIB), { always: true });
    assert.deepEqual([await limitOf("burstable"), await limitOf("besteffort")], [900, 850]);
    await fill(["kubepods", "besteffort"], 80n * 2n ** 20n);
    await reserve.apply(cgroups, pods, BigInt(160 * MIB), { always: true });
    const kept = await limitOf("besteffort");
    assert.equal(await limitOf("burstable"), 60);
    assert.ok(kept >= 80 && kept < 160, `${kept} MiB`);
    assert.deepEqual(errors, []);
  });

  test("[14.14] destroy kills a process that keeps forking and all its children", async () => {
    const { cgroups, mounts } = opened;
    await cgroups.apply(["forks"], { pidsMax: 50n });
    const script = "while :; do sleep 300 & i=$((i+1)); [ $i -gt 40 ] && sleep 0.01; done";
    const child = spawn("sh", ["-c", `read x; ${script}`], { stdio: ["pipe", "ignore", "ignore"] });
    await new Promise((resolve) => child.once("spawn", resolve));
    for (const { path } of mounts) {
      await writeFile(join(path, cgroups.pathOf(["forks"]), "cgroup.procs"), String(child.pid));
    }
    child.stdin.end("\n");
    await new Promise((resolve) => setTimeout(resolve, 200));
    const many = await cgroups.processes(["forks"]);
    assert.ok(many.length > 5, `${many.length} processes`);
    await cgroups.destroy(["forks"], forever);
    assert.equal(await cgroups.exists(["forks"]), false);
    for (const pid of many) assert.equal(await isAlive(pid), false);
  });
});
