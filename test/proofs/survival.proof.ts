/** What a node's containers live through: the agent, the runtime and the API server killed, stopped and away, seen from outside. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { SeededRandom } from "../../sim/seeded-random.ts";
import { pause } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { seed, wholeSize } from "../size.ts";
import { NO_FAULTS, SurvivalWorld } from "../support/survival-world.ts";

const SIZE = wholeSize()
  ? { pods: 30, agentKills: 50, runtimeKills: 5, awayMs: 60_000, stoppedMs: 30_000 }
  : { pods: 12, agentKills: 8, runtimeKills: 2, awayMs: 15_000, stoppedMs: 10_000 };
/** Between two kills: from before the agent has said a word to well into its work. */
const LIFE_MS_MIN = 100;
const LIFE_MS_MAX = 5_000;

describe("containers outlive what happens around them", () => {
  const random = new SeededRandom(seed());
  let world: SurvivalWorld;

  before(async () => {
    world = await SurvivalWorld.start();
    for (let i = 0; i < SIZE.pods; i += 1) await world.create();
    await world.settled();
  });

  after(async () => {
    await world.down();
  });

  const lifeMs = () => LIFE_MS_MIN + random.fraction() * (LIFE_MS_MAX - LIFE_MS_MIN);

  /** Kills one part again and again at random instants while pods come and go. */
  async function killUnderChurn(component: string, kills: number): Promise<void> {
    const done = new AbortController();
    const churn = world.churn(random.split(component), done.signal);
    try {
      for (let kill = 0; kill < kills; kill += 1) {
        await pause(lifeMs());
        await world.kill(component);
        await world.cluster.component(component).restart();
      }
    } finally {
      done.abort();
    }
    const changes = await churn;
    await world.settled();
    const faults = await world.faults();
    figure("kills", kills, "kills");
    figure("starts cut short by a kill so far, and begun again", world.cutShort.size, "starts");
    figure("pods deleted and created meanwhile", changes, "pods");
    figure("looks from outside so far", world.oracle.looks, "looks");
    assert.deepEqual(faults, NO_FAULTS);
  }

  test("[1.20] [5.13] [11.12] the agent is killed at random instants under churn: nothing doubled, lost, restarted or unready", async (t) => {
    t.diagnostic(`seed ${seed()}`);
    await killUnderChurn("kubelet@n1", SIZE.agentKills);
  });

  test("containerd is killed under churn: nothing doubled, lost, restarted or unready", async () => {
    await killUnderChurn("containerd@n1", SIZE.runtimeKills);
  });

  test("the API server is stopped for a while: the node writes no flip and touches no pod", async () => {
    const server = world.cluster.component("kube-apiserver");
    await server.pause();
    await pause(SIZE.awayMs);
    assert.deepEqual(world.oracle.verdict(), { doubled: [], lost: [], restarted: [] });
    await server.resume();
    await recovered();
  });

  test("the API server is killed and comes back later: the node writes no flip and touches no pod", async () => {
    const server = world.cluster.component("kube-apiserver");
    await server.kill();
    await pause(SIZE.awayMs);
    assert.deepEqual(world.oracle.verdict(), { doubled: [], lost: [], restarted: [] });
    await server.restart();
    await recovered();
  });

  test("the agent stands still for a while: nothing is doubled, lost, restarted or unready", async () => {
    const agent = world.cluster.component("kubelet@n1");
    await agent.pause();
    await pause(SIZE.stoppedMs);
    await agent.resume();
    await recovered();
  });

  /** Pods still come and go, and nothing has happened to the others. */
  async function recovered(): Promise<void> {
    await world.settled();
    const [first] = world.wanted;
    if (first !== undefined) await world.delete(first);
    await world.create();
    await world.settled();
    assert.deepEqual(await world.faults(), NO_FAULTS);
  }
});
