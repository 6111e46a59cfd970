import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { cgroupsContract } from "../../../test/contract/cgroups-contract.ts";
import { type PlainTree, plainTree } from "../../../test/support/plain-cgroup-tree.ts";
import { readV2Values } from "../../../test/support/v2-values.ts";
import { hostClock } from "../host/clock.ts";
import { createCgroups } from "./cgroups.ts";
import { cgroupfsDriver } from "./driver.ts";
import { hostTree } from "./tree.ts";

const CONTROLLERS = ["cpuset", "cpu", "io", "memory", "hugetlb", "pids"];
const forever = new AbortController().signal;

const newDirectory = () => mkdtemp(join(tmpdir(), "deckhand-cgroups-"));
const cgroupsOn = (tree: PlainTree, path: string) =>
  createCgroups({
    hierarchies: { version: 2, path },
    root: ["x", "n1"],
    driver: cgroupfsDriver,
    tree,
    clock: hostClock,
  });

cgroupsContract("cgroup v2 on plain directories keeps the contract of Cgroups", async () => {
  const root = await newDirectory();
  const tree = await plainTree(root, CONTROLLERS);
  const cgroups = cgroupsOn(tree, root);
  const directory = (name: readonly string[]) => join(root, cgroups.pathOf(name));
  return {
    cgroups,
    podPath: "/x/n1/a/b/pod1-2",
    read: (name) => readV2Values(directory(name)),
    start: (name) => tree.start(directory(name)),
    isAlive: (pid) => Promise.resolve(tree.isAlive(pid)),
    fill: (name, bytes) => tree.fill(directory(name), bytes),
    meetLimit: (name) => writeFile(join(directory(name), "memory.events"), "max 1\n"),
    close: () => rm(root, { recursive: true }),
  };
});

void suite("cgroup v2", () => {
  let root: string;
  let tree: PlainTree;
  before(async () => {
    root = await newDirectory();
    tree = await plainTree(root, CONTROLLERS);
  });
  after(() => rm(root, { recursive: true }));

  test("[14.1] apply enables every controller down to the cgroup, and writes nothing when repeated", async () => {
    const cgroups = cgroupsOn(tree, root);
    assert.equal(await cgroups.exists(["kubepods"]), false);
    const values = { cpuShares: 2048, memoryLimitBytes: 4_000_000_001n, pidsMax: 32_768n, cpusetCpus: "0-1" };
    await cgroups.apply(["kubepods"], values);
    const down = "/cgroup.subtree_control=+cpuset +cpu +io +memory +hugetlb +pids";
    assert.deepEqual(tree.writes, [
      down,
      `/x${down}`,
      `/x/n1${down}`,
      "/x/n1/kubepods/cpuset.cpus=0-1",
      "/x/n1/kubepods/memory.max=4000000001",
      "/x/n1/kubepods/cpu.weight=79",
      "/x/n1/kubepods/pids.max=32768",
    ]);
    assert.equal(await cgroups.exists(["kubepods"]), true);
    tree.writes.length = 0;
    await cgroups.apply(["kubepods"], values);
    assert.deepEqual(tree.writes, []);
  });

  test("[14.4] apply writes the Go kubelet's values for a pod with 500m CPU and 64Mi memory", async () => {
    const cgroups = cgroupsOn(tree, root);
    const pages = new Map([
      ["2MB", 0n],
      ["1GB", 1_073_741_824n],
    ]);
    await cgroups.apply(["kubepods", "pod1"], {
      cpuShares: 512,
      cpuQuotaUs: 50_000,
      cpuPeriodUs: 100_000,
      memoryLimitBytes: 67_108_864n,
      pidsMax: 0n,
      hugepageLimitBytes: pages,
      unified: new Map([["memory.min", "4096"]]),
    });
    const text = async (file: string) => (await readFile(join(root, "x/n1/kubepods/pod1", file), "utf8")).trim();
    const files = ["cpu.weight", "cpu.max", "memory.max", "pids.max", "memory.min"];
    assert.deepEqual(await Promise.all(files.map(text)), ["20", "50000 100000", "67108864", "1", "4096"]);
    const hugetlb = ["hugetlb.2MB.max", "hugetlb.2MB.rsvd.max", "hugetlb.1GB.max"];
    assert.deepEqual(await Promise.all(hugetlb.map(text)), ["0", "0", "1073741824"]);
  });

  test("apply does not rewrite a memory limit that the kernel rounds to whole pages", async () => {
    const cgroups = cgroupsOn(tree, root);
    await cgroups.apply(["pages"], { memoryLimitBytes: 4096n });
    tree.writes.length = 0;
    await cgroups.apply(["pages"], { memoryLimitBytes: 5000n });
    assert.deepEqual(tree.writes, []);
  });

  test("[14.1] a cgroup without all of the machine's controllers does not count as existing", async () => {
    const cgroups = cgroupsOn(tree, root);
    await cgroups.apply(["half"], {});
    await hostTree.write(join(root, "x/n1/half/cgroup.controllers"), "cpu memory");
    assert.equal(await cgroups.exists(["half"]), false);
    assert.equal(
      await cgroups.validationError(["half"]),
      'cgroup ["x" "n1" "half"] has some missing controllers: cpuset, hugetlb, pids',
    );
  });

  test("[14.3] a missing cgroup root is reported with the Go kubelet's message until it is created", async () => {
    const elsewhere = createCgroups({
      hierarchies: { version: 2, path: root },
      root: ["nowhere"],
      driver: cgroupfsDriver,
      tree,
      clock: hostClock,
    });
    assert.equal(
      await elsewhere.validationError([]),
      `could not read controllers for cgroup ["nowhere"]: open ${root}/nowhere/cgroup.controllers: no such file or directory`,
    );
    await elsewhere.apply([], {});
    assert.equal(await elsewhere.validationError([]), undefined);
  });

  test("a rejected write names its cgroup and file, and the other values are still written", async () => {
    const stubborn = { ...tree, write: (path: string, text: string) => refuseMemory(tree, path, text) };
    const cgroups = cgroupsOn(stubborn, root);
    await assert.rejects(cgroups.apply(["refused"], { memoryLimitBytes: 8192n, cpuShares: 262_144 }), {
      message: "cgroup /x/n1/refused: cannot write 8192 to memory.max: EBUSY: too low",
    });
    assert.equal((await readFile(join(root, "x/n1/refused/cpu.weight"), "utf8")).trim(), "10000");
  });

  test("[14.14] destroy writes cgroup.kill, waits until the cgroup is empty, and removes it", async () => {
    let [kills, looks] = [0, 0];
    const slow = {
      ...tree,
      kill: () => void (kills += 1),
      read: async (path: string) => {
        if (!path.endsWith("cgroup.events")) return tree.read(path);
        looks += 1;
        return looks < 4 ? "populated 1\nfrozen 0\n" : tree.read(path);
      },
    };
    const cgroups = cgroupsOn(slow, root);
    await cgroups.apply(["killed", "below"], {});
    const pid = await tree.start(join(root, "x/n1/killed/below"));
    tree.writes.length = 0;
    await cgroups.destroy(["killed"], forever);
    assert.deepEqual([tree.isAlive(pid), kills, looks], [false, 0, 3 + 1]);
    assert.deepEqual(new Set(tree.writes), new Set(["/x/n1/killed/cgroup.kill=1"]));
    assert.equal(await tree.isGroup(join(root, "x/n1/killed")), false);
  });

  test("[14.14] destroy fails with the PIDs of processes that survive five attempts, and keeps the cgroup", async () => {
    let kills = 0;
    const undead = { ...oldKernel(tree), kill: () => void (kills += 1) };
    const cgroups = cgroupsOn(undead, root);
    await cgroups.apply(["undead"], {});
    const pid = await tree.start(join(root, "x/n1/undead"));
    await assert.rejects(cgroups.destroy(["undead"], forever), {
      message: `cgroup /x/n1/undead: processes ${pid} outlived 5 attempts to kill them`,
    });
    assert.equal(kills, 5);
    assert.equal(await cgroups.exists(["undead"]), true);
  });

  test("[14.14] destroy kills each process on a kernel without cgroup.kill", async () => {
    const cgroups = cgroupsOn(oldKernel(tree), root);
    await cgroups.apply(["old"], {});
    const pid = await tree.start(join(root, "x/n1/old"));
    await cgroups.destroy(["old"], forever);
    assert.deepEqual([tree.isAlive(pid), await tree.isGroup(join(root, "x/n1/old"))], [false, false]);
  });

  test("[14.14] destroy rejects when its signal aborts", async () => {
    const cgroups = cgroupsOn({ ...oldKernel(tree), kill: () => {} }, root);
    await cgroups.apply(["awaited"], {});
    await tree.start(join(root, "x/n1/awaited"));
    const gone = new AbortController();
    const waiting = cgroups.destroy(["awaited"], gone.signal);
    gone.abort(new Error("enough"));
    await assert.rejects(waiting, { message: "enough" });
  });
});

/** A kernel without `cgroup.kill`, which can only kill processes one by one. */
const oldKernel = (tree: PlainTree): PlainTree => ({
  ...tree,
  write: (path, text) =>
    path.endsWith("cgroup.kill") ? Promise.reject(new Error("ENOENT: no such file")) : tree.write(path, text),
});

const refuseMemory = (tree: PlainTree, path: string, text: string) =>
  path.endsWith("memory.max") ? Promise.reject(new Error("EBUSY: too low")) : tree.write(path, text);

void test("[14.1] apply omits huge page limits on a machine without the hugetlb controller", async () => {
  const root = await newDirectory();
  try {
    const tree = await plainTree(root, ["cpu", "memory", "pids"]);
    await cgroupsOn(tree, root).apply(["a"], { hugepageLimitBytes: new Map([["2MB", 0n]]), cpuShares: 2 });
    assert.deepEqual(
      tree.writes.filter((write) => !write.includes("subtree_control")),
      ["/x/n1/a/cpu.weight=1"],
    );
  } finally {
    await rm(root, { recursive: true });
  }
});
