/**
 * Kills and stops the agent, containerd and the API server while pods come and go, and checks from outside that no
 * container is doubled, lost or restarted and no pod becomes unready. The integration suite runs it small, the proof
 * `survival` at whole size.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../../sim/seeded-random.ts";
import { pause } from "../../cluster/wait.ts";
import { figure } from "../../figures.ts";
import { seed } from "../../size.ts";
import { NO_FAULTS, type SurvivalWorld } from "../../support/survival-world.ts";

export interface SurvivalSize {
  readonly agentKills: number;
  readonly runtimeKills: number;
  readonly awayMs: number;
  readonly stoppedMs: number;
}

/** The time between two kills: from before the agent has logged a line to well into its work. */
const LIFE_MS_MIN = 100;
const LIFE_MS_MAX = 5_000;

/** Pods are created one after the other: few are starting at any instant. */
const INTERRUPTED_PER_KILL_MAX = 4;

export function containersOutliveKills(worldOf: () => SurvivalWorld, size: SurvivalSize): void {
  const random = new SeededRandom(seed());
  const lifeMs = () => LIFE_MS_MIN + random.fraction() * (LIFE_MS_MAX - LIFE_MS_MIN);

  /** Kills one component repeatedly at random instants while pods come and go. */
  async function killUnderChurn(component: string, kills: number): Promise<void> {
    const done = new AbortController();
    const interruptedBefore = worldOf().cutShort.size;
    const churn = worldOf().churn(random.split(component), done.signal);
    try {
      for (let kill = 0; kill < kills; kill += 1) {
        await pause(lifeMs());
        await worldOf().kill(component);
        await worldOf().restart(component);
      }
    } finally {
      done.abort();
    }
    const changes = await churn;
    await worldOf().settled();
    const faults = await worldOf().faults();
    figure("kills", kills, "kills");
    const interrupted = worldOf().cutShort.size - interruptedBefore;
    figure("starts interrupted by a kill, and repeated", interrupted, "starts");
    assert.ok(
      interrupted <= INTERRUPTED_PER_KILL_MAX * kills,
      `${interrupted} starts were interrupted by ${kills} kills`,
    );
    figure("pods deleted and created meanwhile", changes, "pods");
    figure("observations from outside so far", worldOf().oracle.looks, "observations");
    assert.deepEqual(faults, NO_FAULTS);
  }

  test("[1.20] [5.13] [11.12] the agent is killed at random instants under churn: no container is doubled, lost, restarted or unready", async (t) => {
    t.diagnostic(`seed ${seed()}`);
    await killUnderChurn("kubelet@n1", size.agentKills);
  });

  test("containerd is killed under churn: no container is doubled, lost, restarted or unready", async () => {
    await killUnderChurn("containerd@n1", size.runtimeKills);
  });

  test("the API server is stopped for some seconds: the node changes no pod and no readiness", async () => {
    const server = worldOf().cluster.component("kube-apiserver");
    await server.pause();
    await pause(size.awayMs);
    assert.deepEqual(worldOf().oracle.verdict(), { doubled: [], lost: [], restarted: [] });
    await server.resume();
    await recovered();
  });

  test("the API server is killed and restarted later: the node changes no pod and no readiness", async () => {
    const server = worldOf().cluster.component("kube-apiserver");
    await server.kill();
    await pause(size.awayMs);
    assert.deepEqual(worldOf().oracle.verdict(), { doubled: [], lost: [], restarted: [] });
    await server.restart();
    await recovered();
  });

  test("the agent is stopped for some seconds: no container is doubled, lost, restarted or unready", async () => {
    const agent = worldOf().cluster.component("kubelet@n1");
    await agent.pause();
    await pause(size.stoppedMs);
    await agent.resume();
    await recovered();
  });

  /** Pods can still be created and deleted, and no other pod was affected. */
  async function recovered(): Promise<void> {
    await worldOf().settled();
    const [first] = worldOf().wanted;
    if (first !== undefined) await worldOf().delete(first);
    await worldOf().create();
    await worldOf().settled();
    assert.deepEqual(await worldOf().faults(), NO_FAULTS);
  }
}
