/** Tests the world itself: what a crash leaves, what a seed determines, and that nodes do not disturb each other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Pod } from "../src/api/gen/core-v1.ts";
import { leases, nodes, pods } from "../src/api/resources.ts";
import { scripted } from "./fake-runtime/behaviour.ts";
import { minimalAgent } from "./minimal-agent.ts";
import type { Fault, FaultPlan, PortCall } from "./port-calls.ts";
import type { SimNode } from "./sim-node.ts";
import { World, type WorldOptions } from "./world.ts";

const forever = new AbortController().signal;
const IMAGE = "registry.k8s.io/busybox:1";

const pod = (name: string, nodeName: string): Pod => ({
  metadata: { namespace: "default", name },
  spec: { nodeName, containers: [{ name: "main", image: IMAGE, command: [...scripted({})] }] },
});

function worldWith(nodeCount: number, options: Partial<WorldOptions> = {}): { world: World; all: readonly SimNode[] } {
  const world = new World({ seed: 1, ...options });
  const all = Array.from({ length: nodeCount }, (_, index) => world.addNode(`n${index + 1}`));
  for (const node of all) node.runtime.images.load(IMAGE);
  return { world, all };
}

const runningOn = (node: SimNode) => [...node.runtime.containers.values()].filter(({ state }) => state === "running");

test("an agent runs its pods, and nothing is left of them after their deletion", async () => {
  const { world, all } = worldWith(2);
  for (const node of all) node.start(minimalAgent);
  const [first, second] = all as readonly [SimNode, SimNode];
  await world.until(world.user.create(pods, pod("a", "n1"), forever));
  await world.until(world.user.create(pods, pod("b", "n2"), forever));
  await world.advance(1000);
  assert.deepEqual([runningOn(first).length, runningOn(second).length], [1, 1]);
  assert.equal((await first.cgroups.processes(["kubepods"])).length, 2, "the sandbox and the container");
  await world.until(world.user.delete(pods, { namespace: "default", name: "a" }, { gracePeriodSeconds: 5 }, forever));
  await world.advance(4900);
  assert.equal(runningOn(first).length, 1, "killed before its grace was over");
  await world.advance(1000);
  assert.deepEqual([first.runtime.sandboxes.size, first.runtime.addresses.size, runningOn(second).length], [0, 0, 1]);
  assert.deepEqual(await first.cgroups.processes(["kubepods"]), []);
  await assert.rejects(world.until(world.user.get(pods, { namespace: "default", name: "a" }, forever)));
});

test("a crashed agent falls silent, its containers keep running, and the next agent finds them", async () => {
  const { world, all } = worldWith(1);
  const [node] = all as readonly [SimNode];
  node.start(minimalAgent);
  await world.until(world.user.create(pods, pod("a", "n1"), forever));
  await world.advance(1000);
  const before = runningOn(node).map(({ id }) => id);
  const { life } = node;
  node.crash();
  assert.deepEqual([life?.isAlive, life?.pendingCount, life?.timerCount, world.api.watchCount], [false, 0, 0, 0]);
  const { count } = world.calls;
  await world.advance(3_600_000);
  assert.deepEqual([world.calls.count, node.isRunning], [count, false], "a dead agent made a call");
  node.start(minimalAgent);
  await world.advance(1000);
  assert.deepEqual(
    runningOn(node).map(({ id }) => id),
    before,
  );
  assert.equal(node.lives, 2);
});

test("an agent that is stopped ends, and leaves no timer, call or watch", async () => {
  const { world, all } = worldWith(1);
  const [node] = all as readonly [SimNode];
  node.start(minimalAgent);
  await world.advance(60_000);
  assert.equal(world.api.watchCount, 1);
  const { life } = node;
  await world.until(node.stop());
  assert.deepEqual([node.isRunning, node.failure, world.api.watchCount], [false, undefined, 0]);
  assert.deepEqual([life?.pendingCount, life?.timerCount], [0, 0]);
});

test("a machine that loses power keeps what was on disk, and no process", async () => {
  const { world, all } = worldWith(1);
  const [node] = all as readonly [SimNode];
  node.start(minimalAgent);
  await world.until(world.user.create(pods, pod("a", "n1"), forever));
  await world.advance(1000);
  const { bootId } = node.machine.machine;
  node.crashMachine();
  assert.deepEqual([runningOn(node).length, node.runtime.addresses.size], [0, 0]);
  assert.ok([...node.runtime.sandboxes.values()].every(({ state }) => state === "notReady"));
  assert.notEqual(node.machine.machine.bootId, bootId);
  node.start(minimalAgent);
  await world.advance(5000);
  assert.equal(runningOn(node).length, 1);
});

test("an API server outage changes nothing on the nodes, and they reconnect afterwards", async () => {
  const { world, all } = worldWith(2);
  for (const node of all) node.start(minimalAgent);
  const [first] = all as readonly [SimNode];
  await world.until(world.user.create(pods, pod("a", "n1"), forever));
  await world.advance(1000);
  world.api.leave("n1");
  await world.advance(60_000);
  const renewed = async (name: string) =>
    (await world.until(world.user.get(leases, { namespace: "kube-node-lease", name }, forever))).spec?.renewTime ?? "";
  assert.ok((await renewed("n1")) < (await renewed("n2")), "a node renewed its lease without its API server");
  assert.equal(runningOn(first).length, 1);
  world.api.comeBack("n1");
  await world.advance(30_000);
  const ages = [await renewed("n1"), await renewed("n2")].map((text) => world.clock.wallMs() - Date.parse(text));
  assert.ok(ages.every((ms) => ms < 12_000));
});

/** Some minutes of a world with many faults, drawn from a seed, then some minutes without. */
async function troubled(
  seed: number,
): Promise<{ readonly world: World; readonly crashes: number; readonly failed: number }> {
  let crashes = 0;
  let failed = 0;
  let random = () => 0;
  const faults: readonly Fault[] = [
    { kind: "crash", effect: "none" },
    { kind: "crash", effect: "done" },
    { kind: "fail", effect: "none" },
    { kind: "fail", effect: "done" },
    { kind: "hang", effect: "none" },
    { kind: "hang", effect: "done" },
  ];
  const plan: FaultPlan = () => {
    if (random() > 0.12) return undefined;
    const fault = faults[Math.floor(random() * faults.length)];
    if (fault?.kind !== "crash") failed += 1;
    return fault;
  };
  const restart = (node: SimNode) => {
    crashes += 1;
    world.clock.after(500, () => node.start(minimalAgent));
  };
  const { world, all } = worldWith(3, { seed, plan, onCrash: restart, latencyMs: (_, r) => r.fraction() * 50 });
  const chance = world.random.split("plan");
  random = () => chance.fraction();
  for (const node of all) node.start(minimalAgent);
  for (let round = 0; round < 20; round += 1) {
    await world.until(world.user.create(pods, pod(`p${round}`, `n${(round % 3) + 1}`), forever));
    await world.advance(20_000);
    if (round >= 5) {
      const target = { namespace: "default", name: `p${round - 5}` };
      await world.until(world.user.delete(pods, target, { gracePeriodSeconds: 2 }, forever));
    }
  }
  random = () => 1;
  await world.advance(10 * 60_000);
  return { world, crashes, failed };
}

test("after failures, crashes and hangs the world settles with exactly one instance of each desired pod", async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { world, crashes, failed } = await troubled(seed);
    assert.ok(crashes > 10 && failed > 20, `seed ${seed}: ${crashes} crashes, ${failed} failures`);
    for (const [index, node] of [...world.nodes.values()].entries()) {
      assert.equal(node.failure, undefined);
      const uids = runningOn(node).map(({ config }) => config.labels?.["uid"]);
      const { items } = await world.until(
        world.user.list(pods, { fields: `spec.nodeName=n${index + 1}` }, {}, forever),
      );
      const wanted = items.map(({ metadata }) => metadata?.uid);
      assert.deepEqual(new Set(uids), new Set(wanted), `seed ${seed}, ${node.name}`);
      assert.equal(new Set(uids).size, uids.length);
    }
    assert.equal((await world.until(world.user.list(nodes, {}, {}, forever))).items.length, 3);
  }
});

test("the same seed gives the same trace, another seed another", async () => {
  const traces = [];
  for (const seed of [7, 7, 8]) {
    const { world } = await troubled(seed);
    traces.push([world.trace.hash, world.trace.count, world.calls.count].join(" "));
  }
  assert.equal(traces[0], traces[1]);
  assert.notEqual(traces[0], traces[2]);
});

test("the world survives a crash at any call, before or after its effect", async () => {
  const run = async (at: { readonly number: number; readonly effect: "none" | "done" } | undefined) => {
    let crashed: PortCall | undefined;
    const plan: FaultPlan = ({ number }) => (number === at?.number ? { kind: "crash", effect: at.effect } : undefined);
    const onCrash = (node: SimNode, call: PortCall) => {
      crashed = call;
      world.clock.after(100, () => node.start(minimalAgent));
    };
    const { world, all } = worldWith(1, { plan, onCrash });
    const [node] = all as readonly [SimNode];
    node.start(minimalAgent);
    await world.until(world.user.create(pods, pod("a", "n1"), forever));
    await world.advance(2000);
    const started = [...node.runtime.containers.values()].length;
    const running = runningOn(node).length;
    await world.until(world.user.delete(pods, { namespace: "default", name: "a" }, { gracePeriodSeconds: 1 }, forever));
    await world.advance(40_000);
    return { crashed, started, running, left: node.runtime.sandboxes.size, calls: world.calls.count };
  };
  const plain = await run(undefined);
  assert.deepEqual([plain.started, plain.running, plain.left], [1, 1, 0]);
  let points = 0;
  for (let number = 1; number <= plain.calls; number += 1) {
    for (const effect of ["none", "done"] as const) {
      const { crashed, running, left } = await run({ number, effect });
      if (crashed === undefined) continue; // The scenario's own call.
      points += 1;
      assert.deepEqual([running, left], [1, 0], `crash at ${crashed.port}.${crashed.name} ${effect}`);
    }
  }
  assert.ok(points > 30, `${points} points`);
});

test("advancing a world's time in pieces or at once makes no difference", async () => {
  const run = async (pieces: readonly number[]) => {
    const { world, all } = worldWith(2, { latencyMs: (_, random) => random.fraction() * 30 });
    for (const node of all) node.start(minimalAgent);
    for (const piece of pieces) await world.advance(piece);
    return [world.clock.monotonicMs(), world.trace.hash];
  };
  const whole = await run([60_000]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 12 }), async (pieces) => {
      const sum = pieces.reduce((total, piece) => total + piece, 0);
      assert.deepEqual(await run([...pieces, 60_000 - sum]), whole);
    }),
    { numRuns: 10 },
  );
});
