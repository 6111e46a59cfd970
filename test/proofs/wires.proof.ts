/**
 * The guarantee of the API server and CRI clients: connections and runtimes that fail again and again cost their calls
 * and leak nothing.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { SeededRandom } from "../../sim/seeded-random.ts";
import { isRuntimeError } from "../../src/ports/runtime-error.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import {
  answers,
  patient,
  type RuntimeWorld,
  runSandbox,
  startContainer,
  statusOf,
} from "../contract/runtime-world.ts";
import { figure } from "../figures.ts";
import { lostConnectionsLeaveNothing, watchesAreCheap } from "../integration/api-wire/leaks.ts";
import { containerdWorld } from "../integration/containerd-world.ts";
import { seed, wholeSize } from "../size.ts";

const RECONNECTS = wholeSize() ? 10_000 : 200;
const WATCHES = wholeSize() ? 200 : 50;
const RUNTIME_KILLS = wholeSize() ? 20 : 2;
const RUNTIME_CALLS = wholeSize() ? 5_000 : 200;
const CALLS_AT_ONCE = 10;

describe("the API server", () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ controlPlane: "api", nodes: [] });
  });
  after(() => cluster.down());

  test(`${WATCHES} watches on one client are cheap`, () => watchesAreCheap(cluster, WATCHES));
  test(`${RECONNECTS} lost connections leave nothing`, () => lostConnectionsLeaveNothing(cluster, RECONNECTS));
});

describe("the runtime", () => {
  let world: RuntimeWorld;
  before(async () => {
    world = await containerdWorld();
  });
  after(() => world.end());

  test(`${RUNTIME_CALLS} calls over ${RUNTIME_KILLS} deaths of containerd: each is answered or fails unavailable`, async (t) => {
    const random = new SeededRandom(seed());
    const sandbox = await runSandbox(world, t);
    const container = await startContainer(world, sandbox, "a", { kind: "untilKill" });
    const { startedWallNs } = await statusOf(world, container);
    const socketsBefore = sockets();
    const total = { answered: 0, unavailable: 0 };
    for (let round = 0; round < RUNTIME_KILLS; round += 1) {
      const { answered, unavailable } = await callsOverADeath(world, container, 0.2 + 0.6 * random.fraction());
      total.answered += answered;
      total.unavailable += unavailable;
      await world.restart();
      await answers(world);
      assert.equal(
        (await statusOf(world, container)).startedWallNs,
        startedWallNs,
        "the container has not been restarted",
      );
    }
    figure("calls answered", total.answered, "calls");
    figure("calls that failed unavailable", total.unavailable, "calls");
    figure("deaths of containerd", RUNTIME_KILLS, "deaths");
    figure("sockets left", sockets() - socketsBefore, "sockets");
    assert.equal(total.answered + total.unavailable, RUNTIME_CALLS);
    assert.ok(total.answered > 0 && total.unavailable > 0, JSON.stringify(total));
    assert.ok(sockets() <= socketsBefore, `${socketsBefore} sockets before, ${sockets()} after`);
  });
});

const sockets = () => process.getActiveResourcesInfo().filter((name) => name === "PipeWrap").length;

/**
 * Runs several callers at once. The runtime is killed after `fraction` of the calls; half of the remaining calls come
 * while it dies, half after.
 */
async function callsOverADeath(world: RuntimeWorld, container: string, fraction: number) {
  const calls = RUNTIME_CALLS / RUNTIME_KILLS;
  const { runtime, images } = world;
  const kinds = [
    () => runtime.version(patient),
    () => runtime.listContainers({}, patient),
    () => runtime.containerStatus(container, { verbose: true }, patient),
    () => runtime.listSandboxes({}, patient),
    () => images.listImages({}, patient),
  ];
  const killAt = Math.floor(fraction * calls);
  const deadAt = Math.ceil((killAt + calls) / 2);
  let [made, answered, unavailable] = [0, 0, 0];
  let killed: Promise<void> | undefined;
  const caller = async () => {
    while (made < calls) {
      if (made === killAt) killed = world.kill();
      const turn = made;
      made += 1;
      if (turn >= deadAt) await killed;
      const ask = kinds[turn % kinds.length] ?? assert.fail();
      try {
        await ask();
        answered += 1;
      } catch (error) {
        if (!isRuntimeError(error, "unavailable")) throw error;
        unavailable += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, caller));
  await killed;
  return { answered, unavailable };
}
