/**
 * Runtime faults that only the simulator can produce: names that stay reserved, abandoned starts, unkillable processes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerConfig } from "../../src/domain/runtime/container.ts";
import { isRuntimeError } from "../../src/ports/runtime-error.ts";
import { PortCalls } from "../port-calls.ts";
import { SeededRandom } from "../seeded-random.ts";
import { Trace } from "../trace.ts";
import { VirtualClock } from "../virtual-clock.ts";
import { type Behaviour, scripted } from "./behaviour.ts";
import { FakeRuntime } from "./fake-runtime.ts";
import type { RuntimeDurations } from "./node-state.ts";
import { FakeRegistry } from "./registry.ts";

const forever = new AbortController().signal;
const IMAGE = "registry.k8s.io/busybox:1";
const POD = { metadata: { name: "p", namespace: "default", uid: "u", attempt: 0 } };

const container = (behaviour: Behaviour, attempt = 0): ContainerConfig => ({
  metadata: { name: "main", attempt },
  image: { image: IMAGE },
  command: scripted(behaviour),
});

function begin(durations: Partial<RuntimeDurations> = {}, seed = 1) {
  const clock = new VirtualClock();
  const random = new SeededRandom(seed);
  const trace = new Trace();
  const registry = new FakeRegistry();
  const world = new FakeRuntime({ clock, random, trace, name: "n1", durations }, registry);
  world.images.load(IMAGE);
  const life = new PortCalls({ clock, trace, random }).begin("test", 1);
  const { runtime, images } = world.connect(life);
  /** Advances the clock by `limitMs`, then returns the call. */
  const during = async <T>(call: Promise<T>, limitMs = 60_000): Promise<T> => {
    call.catch(() => {}); // Awaited below.
    await clock.advance(limitMs);
    return call;
  };
  return { clock, world, registry, runtime, images, during };
}

/** Aborts a create in progress, then tries the same name again. */
async function abandoned(seed: number): Promise<{ readonly containers: number; readonly again: string }> {
  const { clock, runtime, world, during } = begin({ createContainerMs: 1000 }, seed);
  const sandbox = await during(runtime.runSandbox(POD, "", forever));
  const giveUp = new AbortController();
  const call = runtime.createContainer(sandbox, container({}), POD, giveUp.signal);
  call.catch(() => {}); // The abort below rejects this call.
  await clock.advance(500);
  giveUp.abort(new Error("enough"));
  await clock.advance(5000);
  const outcome = await during(
    runtime.createContainer(sandbox, container({}), POD, forever).then(
      () => "created",
      (error: unknown) => (isRuntimeError(error) ? error.code : String(error)),
    ),
  );
  const containers = world.containers.size;
  assert.notEqual(await during(runtime.createContainer(sandbox, container({}, 1), POD, forever)), "");
  world.restart();
  if (containers === 0) await during(runtime.createContainer(sandbox, container({}), POD, forever));
  return { containers, again: outcome };
}

test("an aborted create leaves a container or only its name; a runtime restart frees the name unless a container has it", async () => {
  const found = new Set<string>();
  for (let seed = 0; seed < 20; seed += 1) {
    const { containers, again } = await abandoned(seed);
    assert.equal(again, "failedPrecondition");
    found.add(`${containers} containers`);
  }
  assert.deepEqual([...found].sort(), ["0 containers", "1 containers"]);
});

test("an aborted start continues, and the container runs", async () => {
  const { clock, runtime, world, during } = begin();
  const sandbox = await during(runtime.runSandbox(POD, "", forever));
  const id = await during(runtime.createContainer(sandbox, container({ startMs: 2000 }), POD, forever));
  const giveUp = new AbortController();
  const call = assert.rejects(runtime.startContainer(id, giveUp.signal));
  await clock.advance(1000);
  giveUp.abort(new Error("enough"));
  await call;
  assert.equal(world.containers.get(id)?.state, "created");
  await clock.advance(2000);
  assert.equal(world.containers.get(id)?.state, "running");
});

test("stopping an unkillable process fails with deadlineExceeded, and the process keeps running", async () => {
  const { runtime, world, during } = begin();
  const sandbox = await during(runtime.runSandbox(POD, "", forever));
  const id = await during(runtime.createContainer(sandbox, container({ unkillable: true }), POD, forever));
  await during(runtime.startContainer(id, forever));
  const stop = during(runtime.stopContainer(id, 5, forever), 126_000);
  await assert.rejects(stop, (error) => isRuntimeError(error, "deadlineExceeded"));
  assert.equal(world.containers.get(id)?.state, "running");
});

test("a container the runtime lost track of has state unknown, and a stop makes it exited", async () => {
  const { runtime, world, during } = begin();
  const sandbox = await during(runtime.runSandbox(POD, "", forever));
  const id = await during(runtime.createContainer(sandbox, container({}), POD, forever));
  await during(runtime.startContainer(id, forever));
  world.loseTrackOf(id);
  const [line] = await during(runtime.listContainers({ state: "unknown" }, forever));
  assert.equal(line?.id, id);
  await during(runtime.stopContainer(id, 1, forever));
  assert.equal(world.containers.get(id)?.state, "exited");
});

test("a container whose exit the runtime missed is listed as running despite stops, until it is removed", async () => {
  const { runtime, world, during } = begin();
  const sandbox = await during(runtime.runSandbox(POD, "", forever));
  const id = await during(runtime.createContainer(sandbox, container({}), POD, forever));
  await during(runtime.startContainer(id, forever));
  world.overlook(id);
  for (let stop = 0; stop < 2; stop += 1) await during(runtime.stopContainer(id, 1, forever));
  world.restart();
  assert.equal(world.containers.get(id)?.state, "running");
  assert.notEqual(world.containers.get(id)?.process?.end, undefined);
  await during(runtime.removeContainer(id, forever));
  assert.equal(world.containers.has(id), false);
});

test("a failing pod network creates no sandbox and reserves no address", async () => {
  const { runtime, world, during } = begin();
  world.knobs.network = { ready: false, addError: "no addresses left" };
  await assert.rejects(during(runtime.runSandbox(POD, "", forever)), /no addresses left/);
  const { conditions } = await during(runtime.status({ verbose: false }, forever));
  assert.equal(conditions.find(({ type }) => type === "NetworkReady")?.status, false);
  assert.deepEqual([world.sandboxes.size, world.addresses.size], [0, 0]);
  world.knobs.network = { ready: true };
  await during(runtime.runSandbox(POD, "", forever));
});

test("a pull takes its registry's time, and an aborted pull leaves no image", async () => {
  const { clock, registry, images, world, during } = begin();
  registry.add("slow.example/app:1");
  registry.pullMs = () => 30_000;
  const giveUp = new AbortController();
  const call = assert.rejects(images.pullImage({ image: "slow.example/app:1" }, {}, giveUp.signal));
  await clock.advance(10_000);
  giveUp.abort(new Error("enough"));
  await call;
  await clock.advance(60_000);
  assert.equal(world.images.find("slow.example/app:1"), undefined);
  const startMs = clock.monotonicMs();
  let doneMs = 0;
  const pulled = images
    .pullImage({ image: "slow.example/app:1" }, {}, forever)
    .then(() => (doneMs = clock.monotonicMs()));
  await during(pulled);
  assert.equal(doneMs - startMs, 30_000);
});

test("container events can be lost silently", async () => {
  const { clock, runtime, world, during } = begin();
  world.knobs.events.isLost = ({ kind }) => kind === "started";
  const kinds: string[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const { kind } of runtime.events(stop.signal)) kinds.push(kind);
  })();
  await clock.advance(0);
  const sandbox = await during(runtime.runSandbox(POD, "", forever));
  await during(runtime.removeSandbox(sandbox, forever));
  stop.abort(new Error("enough"));
  await assert.rejects(reading);
  assert.deepEqual(kinds, ["created", "stopped", "deleted"]);
});
