import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, suite, test } from "node:test";
import { waitUntil } from "../../../test/cluster/wait.ts";
import { cgroupsContract } from "../../../test/contract/cgroups-contract.ts";
import { listenAsPeer, type PeerCall } from "../../../test/support/dbus-peer.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { type PlainTree, plainTree } from "../../../test/support/plain-cgroup-tree.ts";
import { type PlainSystemd, plainSystemd } from "../../../test/support/plain-systemd.ts";
import { readV2Values } from "../../../test/support/v2-values.ts";
import { errorText } from "../../base/error-text.ts";
import { podCgroupName } from "../../domain/resources/cgroup-name.ts";
import type { CgroupName } from "../../domain/resources/cgroup-values.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import { createCgroups } from "../cgroupfs/cgroups.ts";
import type { CgroupTree } from "../cgroupfs/tree.ts";
import { connectDbus, type DbusConnection } from "../dbus/connection.ts";
import { hostClock } from "../host/clock.ts";
import { systemdDriver } from "./driver.ts";
import { SystemdManager } from "./manager.ts";

const CONTROLLERS = ["cpuset", "cpu", "io", "memory", "hugetlb", "pids"];
const forever = new AbortController().signal;
const JOB_REMOVED = {
  path: "/org/freedesktop/systemd1",
  interface: "org.freedesktop.systemd1.Manager",
  member: "JobRemoved",
  signature: "uoss",
} as const;

interface World {
  readonly root: string;
  readonly socketPath: string;
  readonly tree: PlainTree;
  readonly systemd: PlainSystemd;
  readonly cgroups: Cgroups;
  readonly directory: (name: CgroupName) => string;
  /** The cgroups as a process sees them that has just started. */
  readonly restart: (parts?: { readonly clock?: Clock; readonly tree?: CgroupTree }) => Cgroups;
  /** The errors that were logged. */
  readonly errors: string[];
  close(): Promise<void>;
}

async function openWorld(cgroupRoot: CgroupName = []): Promise<World> {
  const base = await mkdtemp(join(tmpdir(), "deckhand-systemd-"));
  const root = join(base, "cgroup");
  const socketPath = join(base, "private");
  const tree = await plainTree(root, CONTROLLERS);
  const systemd = await plainSystemd(socketPath, root, tree);
  const connect = (signal: AbortSignal) => connectDbus({ socketPath, isBus: false }, signal);
  const managers: SystemdManager[] = [];
  const errors: string[] = [];
  const log = {
    info: () => {},
    error: (message: string, error: unknown) => errors.push(`${message}: ${errorText(error)}`),
  };
  const restart: World["restart"] = ({ clock = hostClock, tree: on = tree } = {}) => {
    const manager = new SystemdManager({ connect, clock, shutdown: forever });
    managers.push(manager);
    const driver = systemdDriver(manager, 2, log);
    return createCgroups({ hierarchies: { version: 2, path: root }, root: cgroupRoot, driver, tree: on, clock });
  };
  const cgroups = restart();
  return {
    root,
    socketPath,
    tree,
    systemd,
    cgroups,
    restart,
    errors,
    directory: (name) => join(root, cgroups.pathOf(name)),
    async close() {
      for (const manager of managers) await manager.close();
      await systemd.close().catch(() => undefined); // A test may have closed it.
      // The stand-in may still create the slice of a call that a test gave up.
      await rm(base, { recursive: true, maxRetries: 10 });
    },
  };
}

cgroupsContract("the systemd driver on plain directories keeps the contract of Cgroups", async () => {
  const world = await openWorld(["my-root"]);
  const { tree, cgroups, directory } = world;
  return {
    cgroups,
    podPath: "/my_root.slice/my_root-a.slice/my_root-a-b.slice/my_root-a-b-pod1_2.slice",
    read: (name) => readV2Values(directory(name)),
    start: (name) => tree.start(directory(name)),
    isAlive: (pid) => Promise.resolve(tree.isAlive(pid)),
    fill: (name, bytes) => tree.fill(directory(name), bytes),
    meetLimit: (name) => writeFile(join(directory(name), "memory.events"), "max 1\n"),
    close: () => world.close(),
  };
});

const UID = "8dbc75ce-1234-4d1c-9a62-0e3b2f0c1a55";
const POD = podCgroupName("Burstable", UID);
const SLICE = "kubepods-burstable-pod8dbc75ce_1234_4d1c_9a62_0e3b2f0c1a55.slice";

void suite("the systemd driver", () => {
  let world: World;
  beforeEach(async () => {
    world = await openWorld();
  });
  afterEach(() => world.close());
  const text = async (file: string) => (await readFile(join(world.directory(POD), file), "utf8")).trim();

  test("[14.3] a cgroup is created as a transient slice with every controller of the machine", async () => {
    const { cgroups, systemd, directory, root } = world;
    await cgroups.apply(POD, {});
    assert.equal(directory(POD), `${root}/kubepods.slice/kubepods-burstable.slice/${SLICE}`);
    assert.equal(await cgroups.exists(POD), true);
    assert.deepEqual((await text("cgroup.controllers")).split(" ").toSorted(), CONTROLLERS.toSorted());
    assert.deepEqual(systemd.calls, [
      `StartTransientUnit ${SLICE} Description=Kubernetes pods, ${SLICE} Wants=kubepods-burstable.slice MemoryAccounting=true CPUAccounting=true IOAccounting=true TasksAccounting=true DefaultDependencies=false`,
    ]);
  });

  test("[14.4] systemd's properties and the cgroup files agree, with the CPU quota rounded up in both", async () => {
    const { cgroups, systemd } = world;
    await cgroups.apply(POD, {
      cpuShares: 512,
      cpuQuotaUs: 50_100,
      cpuPeriodUs: 100_000,
      memoryLimitBytes: 67_108_864n,
      pidsMax: 100n,
      cpusetCpus: "0-1",
      hugepageLimitBytes: new Map([["2MB", 0n]]),
      unified: new Map([["memory.min", "4096"]]),
    });
    assert.equal(
      systemd.calls[1],
      `SetUnitProperties ${SLICE} MemoryMax=67108864 CPUWeight=20 CPUQuotaPeriodUSec=100000 CPUQuotaPerSecUSec=510000 TasksMax=100 AllowedCPUs=3 MemoryMin=4096`,
    );
    const files = ["cpu.weight", "cpu.max", "memory.max", "pids.max", "cpuset.cpus", "hugetlb.2MB.max", "memory.min"];
    const held = ["20", "51000 100000", "67108864", "100", "0-1", "0", "4096"];
    assert.deepEqual(await Promise.all(files.map(text)), held);
  });

  test("[14.9] unchanged values are not sent again; a value changed by others is sent and written again", async () => {
    const { cgroups, systemd, tree, directory } = world;
    await cgroups.apply(POD, { cpuShares: 2 });
    systemd.calls.length = 0;
    await cgroups.apply(POD, { cpuShares: 2 });
    assert.deepEqual(systemd.calls, []);
    await tree.write(join(directory(POD), "cpu.weight"), "100");
    await cgroups.apply(POD, { cpuShares: 2 });
    assert.deepEqual(systemd.calls, [`SetUnitProperties ${SLICE} CPUWeight=1`]);
    assert.equal(await text("cpu.weight"), "1");
  });

  test("[14.3] an existing slice is reused after a restart, and recreated when it lacks controllers", async () => {
    const { systemd, restart, tree, directory } = world;
    await restart().apply(POD, { pidsMax: 5n });
    systemd.calls.length = 0;
    await restart().apply(POD, { pidsMax: 5n });
    assert.deepEqual(systemd.calls, [`SetUnitProperties ${SLICE} TasksMax=5`]);
    systemd.calls.length = 0;
    await tree.write(join(directory(POD), "cgroup.controllers"), "cpu memory");
    await restart().apply(POD, { pidsMax: 6n });
    assert.deepEqual(
      systemd.calls.map((call) => call.split(" ")[0]),
      ["StartTransientUnit", "SetUnitProperties"],
    );
    assert.equal(await text("pids.max"), "6");
  });

  test("[14.14] destroy kills the processes, stops the slice and removes its directories; repeating it is harmless", async () => {
    const { cgroups, systemd, tree, directory } = world;
    await cgroups.apply(POD, {});
    await tree.make(join(directory(POD), "cri-containerd-1.scope"));
    const pid = await tree.start(join(directory(POD), "cri-containerd-1.scope"));
    await cgroups.destroy(POD, forever);
    assert.equal(tree.isAlive(pid), false);
    assert.deepEqual([systemd.calls.at(-1), systemd.units.has(SLICE)], [`StopUnit ${SLICE}`, false]);
    assert.equal(await tree.isGroup(directory(POD)), false);
    await cgroups.destroy(POD, forever);
  });

  test("[14.14] destroy calls StopUnit before it removes directories, and logs a refusal without stopping", async () => {
    const { systemd, restart, tree, directory, errors } = world;
    const calls: (string | undefined)[] = [];
    const watched = {
      ...tree,
      remove: (path: string) => {
        calls.push(systemd.calls.at(-1));
        return tree.remove(path);
      },
    };
    const cgroups = restart({ tree: watched });
    await cgroups.apply(POD, {});
    systemd.answers.set("StopUnit", { errorName: "org.freedesktop.DBus.Error.AccessDenied" });
    await cgroups.destroy(POD, forever);
    assert.deepEqual([calls, await tree.isGroup(directory(POD))], [[`StopUnit ${SLICE}`], false]);
    assert.deepEqual(errors, [
      `Failed to stop a unit of systemd, its cgroup is removed without it: systemd cannot stop ${SLICE}: org.freedesktop.DBus.Error.AccessDenied: it is said`,
    ]);
  });

  test("[14.14] destroy succeeds while systemd is unreachable", async () => {
    const { cgroups, systemd, tree, directory, errors } = world;
    await cgroups.apply(POD, {});
    const pid = await tree.start(directory(POD));
    await systemd.close();
    await cgroups.destroy(POD, forever);
    assert.deepEqual([tree.isAlive(pid), await tree.isGroup(directory(POD)), errors.length], [false, false, 1]);
  });

  test("a call is repeated on a new connection when its connection is lost", async () => {
    const { cgroups, systemd } = world;
    await cgroups.apply(POD, {});
    systemd.answers.set("SetUnitProperties", "hangUp");
    await cgroups.apply(POD, { cpuShares: 2 });
    assert.deepEqual([systemd.connections, await text("cpu.weight")], [2, "1"]);
    systemd.answers.set("StopUnit", "hangUp");
    await cgroups.destroy(POD, forever);
    assert.deepEqual([systemd.connections, systemd.units.has(SLICE)], [3, false]);
  });

  test("apply fails after 30 s without JobRemoved, and the next apply does not wait", async () => {
    const { systemd, restart } = world;
    const clock = new ManualClock();
    const cgroups = restart({ clock });
    systemd.answers.set("StartTransientUnit", "endless");
    const refused = assert.rejects(cgroups.apply(POD, {}), {
      message: `cgroup ${cgroups.pathOf(POD)}: systemd cannot start ${SLICE}: no answer within 30000 ms`,
    });
    await waitUntil("the call", 5_000, async () => systemd.calls.length === 1);
    await clock.advance(29_999);
    assert.equal(clock.timersPending, 1);
    await clock.advance(1);
    await refused;
    await cgroups.apply(POD, { pidsMax: 5n });
    assert.equal(await text("pids.max"), "5");
    assert.equal(clock.timersPending, 0);
  });

  test("a start is aborted at shutdown", async () => {
    const { systemd, socketPath } = world;
    const shutdown = new AbortController();
    const connect = (signal: AbortSignal) => connectDbus({ socketPath, isBus: false }, signal);
    const manager = new SystemdManager({ connect, clock: new ManualClock(), shutdown: shutdown.signal });
    systemd.answers.set("StartTransientUnit", "endless");
    const starting = manager.startTransient(SLICE, []);
    await waitUntil("the call", 5_000, async () => systemd.calls.length === 1);
    shutdown.abort(new Error("ended"));
    await assert.rejects(starting, { message: "ended" });
    await manager.close();
  });

  test("two calls that wait for one job both resolve when it ends", async () => {
    const socketPath = join(world.root, "one-job");
    const asked: PeerCall[] = [];
    const peer = await listenAsPeer(socketPath, (call) => {
      if (call.member === "Get") return call.reply("v", { signature: "s", value: "255" });
      call.reply("o", "/job/1");
      if (asked.push(call) < 2) return;
      call.signal({ ...JOB_REMOVED, body: [1, "/job/1", "a.slice", "done"] });
    });
    const connect = (signal: AbortSignal) => connectDbus({ socketPath, isBus: false }, signal);
    const manager = new SystemdManager({ connect, clock: new ManualClock(), shutdown: forever });
    await Promise.all([manager.stop("a.slice", forever), manager.stop("a.slice", forever)]);
    await manager.close();
    await peer.close();
  });

  test("a connection that answers the first calls with errors is closed", async () => {
    const socketPath = join(world.root, "closed");
    const opened: DbusConnection[] = [];
    const peer = await listenAsPeer(socketPath, (call) => call.fail("org.x.No", "not today"));
    const connect = async (signal: AbortSignal) => {
      opened.push(await connectDbus({ socketPath, isBus: false }, signal));
      return opened[0] as DbusConnection;
    };
    const manager = new SystemdManager({ connect, clock: new ManualClock(), shutdown: forever });
    await assert.rejects(manager.stop("a.slice", forever), /not today/);
    assert.deepEqual(
      opened.map(({ isOpen }) => isOpen),
      [false],
    );
    await peer.close();
  });

  test("[14.4] properties unknown to an old systemd are not sent, but written to the cgroup files", async () => {
    const { cgroups, systemd } = world;
    for (const [version, unknown] of [
      ["v241-1", ["CPUQuotaPeriodUSec", "AllowedCPUs"]],
      ["243", ["AllowedCPUs"]],
      ["244", []],
    ] as const) {
      systemd.version = version;
      // On a new connection, as after another systemd has replaced the old one.
      systemd.answers.set("SetUnitProperties", "hangUp");
      await cgroups.apply(POD, {
        cpuQuotaUs: 50_000,
        cpuPeriodUs: 100_000,
        cpusetCpus: "0",
        pidsMax: BigInt(parseInt(version.replace("v", ""), 10)),
      });
      const said = systemd.calls.at(-1) ?? "";
      const words = ["CPUQuotaPeriodUSec", "CPUQuotaPerSecUSec", "AllowedCPUs", "TasksMax"];
      assert.deepEqual(
        words.filter((word) => !said.includes(word)),
        unknown,
      );
      assert.deepEqual([await text("cpu.max"), await text("cpuset.cpus")], ["50000 100000", "0"]);
    }
  });

  test("a rejected call names the unit, and a failed start is reset with ResetFailedUnit", async () => {
    const { cgroups, systemd } = world;
    systemd.answers.set("StartTransientUnit", { result: "failed" });
    await assert.rejects(cgroups.apply(POD, {}), {
      message: `cgroup ${cgroups.pathOf(POD)}: systemd cannot start ${SLICE}: its job ended as "failed"`,
    });
    assert.equal(systemd.calls.at(-1), `ResetFailedUnit ${SLICE}`);
    systemd.answers.set("SetUnitProperties", { errorName: "org.freedesktop.DBus.Error.AccessDenied" });
    await assert.rejects(cgroups.apply(POD, { cpuShares: 2 }), {
      message: `cgroup ${cgroups.pathOf(POD)}: systemd cannot set properties of ${SLICE}: org.freedesktop.DBus.Error.AccessDenied: it is said`,
    });
  });

  test("[14.3] children() lists only slices that are pod or QoS cgroups", async () => {
    const { cgroups, tree, directory } = world;
    await cgroups.apply(POD, {});
    await tree.make(join(directory(["kubepods"]), "stray.scope"));
    assert.deepEqual(await cgroups.children(["kubepods"]), ["burstable"]);
    assert.deepEqual(await cgroups.children(["kubepods", "burstable"]), [`pod${UID}`]);
  });
});
