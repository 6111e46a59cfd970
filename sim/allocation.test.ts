/**
 * Tests pods on a node whose kubelet has a CPU allocator, which production does not have yet. Runs the real loops in
 * virtual time.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pods } from "../src/api/resources.ts";
import { LatestCell } from "../src/concurrency/latest-cell.ts";
import type { PodAllocator } from "../src/controllers/sync-loop/allocation.ts";
import { podCgroupName } from "../src/domain/resources/cgroup-name.ts";
import { FakeCpuAllocator } from "../test/support/fake-cpu-allocator.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { allocatingKubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import { World } from "./world.ts";

const amounts = { cpu: "1", memory: "64Mi" };

function begin(...sets: readonly string[]) {
  const world = new World({ seed: 1, latencyMs: () => 2 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  const { create, find } = plainPods(world);
  /** One allocator per agent process. */
  const made: FakeCpuAllocator[] = [];
  const agent = allocatingKubelet([
    ({ cells: { admittedPods } }, journaledPods) => {
      const allocator = new FakeCpuAllocator({ sets, admittedPods, journaledPods });
      made.push(allocator);
      return allocator;
    },
  ]);
  const start = () => node.start(agent);
  start();
  return {
    world,
    node,
    start,
    find,
    calls: () => made.map(({ calls }) => calls),
    create: (name: string) => create(name, { resources: { requests: amounts, limits: amounts } }),
    remove: (name: string) =>
      world.api.writes.delete(kindOf(pods), { namespace: "default", name }, { gracePeriodSeconds: 5 }, ADMIN),
    uidOf: (name: string) => find(name)?.metadata?.uid ?? assert.fail(name),
    running: () =>
      [...node.runtime.containers.values()].flatMap(({ state, config: { resources } }) =>
        state === "running" ? [[resources?.cpusetCpus, resources?.cpuQuotaUs]] : [],
      ),
  };
}

test("container gets the CPUs that its allocator assigned, and its pod's cgroup has no CPU quota", async () => {
  const { world, node, create, running, uidOf } = begin("2-3");
  create("first");
  await world.advance(10_000);
  assert.deepEqual(running(), [["2-3", -1]]);
  const group = podCgroupName("Guaranteed", uidOf("first"));
  assert.equal(node.cgroups.valuesOf(group).cpuQuotaUs, -1);
});

test("pod keeps its CPUs while the agent is down and releases them once after it ends", async () => {
  const { world, node, start, create, remove, find, running, calls, uidOf } = begin("2-3");
  create("first");
  await world.advance(10_000);
  const uid = uidOf("first");
  create("second");
  await world.advance(10_000);
  const { phase, reason, message } = find("second")?.status ?? {};
  assert.deepEqual([phase, reason, message], ["Failed", "OutOfcpus", "Pod was rejected: not enough cpus available"]);
  node.crash();
  start();
  await world.advance(30_000);
  create("third");
  await world.advance(10_000);
  assert.deepEqual([find("third")?.status?.reason, running()], ["OutOfcpus", [["2-3", -1]]]);
  remove("first");
  await world.advance(20_000);
  create("fourth");
  await world.advance(10_000);
  assert.deepEqual([find("fourth")?.status?.phase, running()], ["Running", [["2-3", -1]]]);
  assert.deepEqual(calls(), [
    ["allocate first", "allocate second"],
    ["allocate third", `release ${uid}`, "allocate fourth"],
  ]);
});

test("deferred pod is allocated as soon as the allocator's cell has a new version", async () => {
  const world = new World({ seed: 1, latencyMs: () => 2 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  const { create, find } = plainPods(world);
  const registered = new LatestCell(false);
  const deferral = { reason: "WaitingForDevices" as const, message: "no plugin is registered" };
  const devices: PodAllocator = {
    name: "devices",
    awaited: registered,
    allocate: (_pod, soFar) =>
      Promise.resolve(registered.value ? { kind: "allocated", allocation: soFar } : { kind: "deferred", deferral }),
    release: () => {},
  };
  node.start(allocatingKubelet([() => devices]));
  create("first", {});
  await world.advance(10_000);
  assert.equal(find("first")?.status?.phase, "Pending");
  registered.set(true);
  await world.advance(2_000);
  assert.equal(find("first")?.status?.phase, "Running");
});
