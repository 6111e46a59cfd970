/**
 * A node with malicious pods: an image name of 200 KB, a gRPC probe with an endless response, and HTTP probes whose
 * endless responses arrive byte by byte. The node and its other pods must stay healthy.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { pause } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { HostileWorld } from "../support/hostile-world.ts";
import { IdleLoop } from "../support/idle-loop.ts";

const LASTS_MS = 10_000;
const LOOP_DELAY_MS_MAX = 50;
const GROWTH_BYTES_MAX = 32 * 1024 * 1024;
const HEALTH_MS_MAX = 2_000;
const TRICKLES = 10;

suite("a node with hostile pods", () => {
  let world: HostileWorld;

  before(async () => {
    world = await HostileWorld.start();
    // The first pods make the agent allocate memory that is not due to hostile pods.
    const ordinary = Array.from({ length: TRICKLES }, (_, index) => `ordinary-${index}`);
    for (const name of ordinary) await world.create(world.podOf(name));
    for (const name of ordinary) await world.runs(name);
    for (const name of ordinary) await world.delete(name);
  });

  after(() => world.down());

  /** Asserts that loop delay, memory and /healthz stay within their limits while these pods are on the node. */
  async function endures(what: string, pods: readonly Pod[], neighbor: string): Promise<void> {
    const { agentPid } = world;
    const beforeBytes = await world.residentBytes();
    await using idle = new IdleLoop();
    await world.loopDelayMs();
    for (const pod of pods) await world.create(pod);
    await world.create(world.podOf(neighbor));
    await world.runs(neighbor);
    const untilMs = performance.now() + LASTS_MS;
    let [healthMs, grownBytes] = [0, 0];
    while (performance.now() < untilMs) {
      healthMs = Math.max(healthMs, await world.healthMs());
      grownBytes = Math.max(grownBytes, (await world.residentBytes()) - beforeBytes);
      await pause(250);
    }
    const { p99, max } = await world.loopDelayMs();
    const machineMs = await idle.p99Ms();
    figure(`loop delay p99 beside ${what}`, Math.round(p99), "ms");
    figure(`loop delay at most beside ${what}`, Math.round(max), "ms");
    figure(`resident memory more beside ${what}`, Math.round(grownBytes / 1024), "KiB");
    assert.equal(world.agentPid, agentPid, "the agent is the same");
    assert.ok(p99 - machineMs <= LOOP_DELAY_MS_MAX, `p99 ${p99} ms, ${machineMs} ms of it the machine's`);
    assert.ok(grownBytes <= GROWTH_BYTES_MAX, `${grownBytes} bytes more`);
    assert.ok(healthMs <= HEALTH_MS_MAX, `healthz took ${healthMs} ms`);
    for (const { metadata } of pods) await world.delete(metadata?.name ?? "");
  }

  test("the agent logs at startup that pull credentials are not verified", async () => {
    assert.match(
      await world.agentLog(),
      /not implemented.*verification of pull credentials \(imagePullCredentialsVerificationPolicy\): a pod may run an image/,
    );
  });

  test("an image name of 200 KB", async () => {
    await endures("an image name of 200 KB", [world.longName("image")], "beside-image");
  });

  test("[12.5] a gRPC probe whose response never ends", async () => {
    await endures("an endless answer to a gRPC probe", [world.endlessGrpc("grpc")], "beside-grpc");
  });

  test("[12.3] HTTP probes whose responses arrive byte by byte and never end", async () => {
    const pods = Array.from({ length: TRICKLES }, (_, index) => world.trickle(`trickle-${index}`));
    await endures("endless answers to HTTP probes", pods, "beside-http");
  });
});
