/** The controller that maintains the cgroups above all pods, on the kernel's cgroup v1 below the test's own parent. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { LatestCell } from "../../src/concurrency/latest-cell.ts";
import { LatestTable } from "../../src/concurrency/latest-table.ts";
import { LoopHeartbeats } from "../../src/concurrency/loop-heartbeats.ts";
import { type NodeCgroups, ResourcesController } from "../../src/controllers/resources/resources.ts";
import { KUBEPODS } from "../../src/domain/resources/cgroup-name.ts";
import type { QosCgroupState } from "../../src/domain/resources/qos-cgroup-state.ts";
import { parseResourceList } from "../../src/domain/resources/resource-list.ts";
import { createCgroups } from "../../src/wire/cgroupfs/cgroups.ts";
import { cgroupfsDriver } from "../../src/wire/cgroupfs/driver.ts";
import { parseHierarchies } from "../../src/wire/cgroupfs/hierarchies.ts";
import { hostTree } from "../../src/wire/cgroupfs/tree.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { cgroupsLeft, removeCgroup } from "../cluster/cgroups.ts";
import { waitUntil } from "../cluster/wait.ts";
import { ManualClock } from "../support/manual-clock.ts";

const PARENT = `deckhand-node-${process.pid}`;
const MEMORY_BYTES = 4n * 2n ** 30n;

const text = async (path: string) => (await readFile(join("/sys/fs/cgroup", path), "utf8")).trim();
const shares = (tier: string) => text(`cpu/${PARENT}/kubepods${tier}/cpu.shares`);
const memory = () => text(`memory/${PARENT}/kubepods/memory.limit_in_bytes`);

void test("[14.8][14.9] kubepods and its QoS cgroups are created, follow the pods, and are restored every minute", async () => {
  const hierarchies = parseHierarchies(await readFile("/proc/self/mounts", "utf8"));
  const on = (root: readonly string[]) =>
    createCgroups({ hierarchies, root, driver: cgroupfsDriver, tree: hostTree, clock: hostClock });
  const pods = on([PARENT]);
  await pods.apply(["system"], {});
  const admittedPods = new LatestTable<string, { readonly pod: Pod; readonly verdict: { readonly kind: string } }>();
  const clock = new ManualClock();
  const reported: string[] = [];
  const facts = {
    cpus: 4,
    onlineCpus: cpus().length === 1 ? "0" : `0-${cpus().length - 1}`,
    physicalCores: 4,
    sockets: 1,
    memoryBytes: MEMORY_BYTES,
    pidsMax: 4096,
    hugepages: new Map([[2_097_152n, 0n]]),
  };
  const names = {
    swapBytes: 0n,
    machineId: "",
    systemUuid: "",
    bootId: "",
    kernelVersion: "",
    osImage: "",
    hostname: "",
    selinux: false,
    apparmor: false,
  };
  const controller = new ResourcesController({
    cgroups: new LatestCell<NodeCgroups | undefined>({ pods, machine: on([]) }),
    admittedPods,
    qosCgroups: new LatestCell<QosCgroupState>({ kind: "pending" }),
    machine: { facts: () => Promise.resolve({ ...facts, ...names }) },
    events: { emit: (_, type, reason, message) => reported.push(`${type} ${reason} ${message}`) },
    clock,
    log: { info: () => {}, error: (message, error) => reported.push(`${message}: ${String(error)}`) },
    heartbeat: new LoopHeartbeats(clock).expect("any", 0),
    misconfigurationIsFatal: false,
    settings: {
      nodeName: "n1",
      cgroupRoot: [PARENT],
      reservations: { systemReserved: parseResourceList({ cpu: "1", memory: "1Gi" }), kubeReserved: new Map() },
      enforce: new Set(["pods", "system-reserved"]),
      systemReservedCgroup: `/${PARENT}/system`,
      kubeReservedCgroup: "",
    },
  });
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  try {
    await waitUntil("the events", 10_000, () => Promise.resolve(reported.length === 2));
    assert.deepEqual(reported, [
      "Normal NodeAllocatableEnforced Updated Node Allocatable limit across pods",
      `Normal NodeAllocatableEnforced Updated limits on system reserved cgroup /${PARENT}/system`,
    ]);
    const kubepods = [await shares(""), await memory(), await text(`pids/${PARENT}/kubepods/pids.max`)];
    assert.deepEqual(kubepods, ["3072", "3221225472", "4096"]);
    assert.deepEqual([await shares("/burstable"), await shares("/besteffort")], ["2", "2"]);
    assert.equal(await text(`memory/${PARENT}/system/memory.limit_in_bytes`), "1073741824");
    admittedPods.set("u", {
      pod: { spec: { containers: [{ name: "a", resources: { requests: { cpu: "750m" } } }] } },
      verdict: { kind: "admitted" },
    });
    await waitUntil("the tier to follow", 10_000, async () => (await shares("/burstable")) === "768");
    await writeFile(`/sys/fs/cgroup/memory/${PARENT}/kubepods/memory.limit_in_bytes`, "-1");
    await writeFile(`/sys/fs/cgroup/cpu/${PARENT}/kubepods/besteffort/cpu.shares`, "1024");
    await clock.advance(60_000);
    await waitUntil("the values to be put back", 10_000, async () => {
      return (await memory()) === "3221225472" && (await shares("/besteffort")) === "2";
    });
  } finally {
    stop.abort(new Error("over"));
    await running;
    for (const name of [KUBEPODS, ["system"]]) await pods.destroy(name, new AbortController().signal);
    await removeCgroup(`/${PARENT}`);
  }
  assert.deepEqual(await cgroupsLeft(`/${PARENT}`), []);
  assert.equal(reported.length, 2);
});
