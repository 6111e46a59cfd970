/**
 * For an hour, hostile clients with one core send requests to port 10250. They delay neither the agent's event loop,
 * nor a probe, nor the node's lease. Measurements are read through the API server, because the agent counts connections
 * by address and the clients use up the limit of theirs.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pause } from "../../cluster/wait.ts";
import { figure } from "../../figures.ts";
import { wholeSize } from "../../size.ts";
import { assertHeldOff } from "../../support/hostile-outcomes.ts";
import { HostileWorld } from "../../support/hostile-world.ts";

const CLIENTS = fileURLToPath(new URL("../../support/hostile-client.ts", import.meta.url));
const FLOOD_MS = wholeSize() ? 3_600_000 : 60_000;
const SCALE = wholeSize() ? "1" : "0.1";
const LOOP_DELAY_P99_MS_MAX = 50;
const LOOP_DELAY_MS_MAX = 500;
/** Ten seconds between two renewals, plus a quarter. */
const LEASE_MS_MAX = 12_500;
/** The container is probed every second. */
const PROBES_MIN = (0.8 * FLOOD_MS) / 1_000;

suite("hostile clients", () => {
  let world: HostileWorld;

  before(async () => {
    world = await HostileWorld.start();
    await world.startProbed(world.node);
  });

  after(() => world.down());

  /** Returns the number of rounds. */
  async function flood(untilMs: number, signal: AbortSignal): Promise<number> {
    const args = ["-c", "1", process.execPath, CLIENTS, "10250", SCALE, world.node.address];
    let rounds = 0;
    for (; performance.now() < untilMs; rounds += 1) {
      const { stdout } = await promisify(execFile)("taskset", args, { signal });
      assertHeldOff(stdout, { isNear: false });
    }
    return rounds;
  }

  /** Until `untilMs`, samples the event loop's delays every 30 s and the age of the lease every second. */
  async function observe(untilMs: number, signal: AbortSignal) {
    const seen = { p99s: [] as number[], maxima: [] as number[], leases: [] as number[] };
    for (let look = 1; performance.now() < untilMs && !signal.aborted; look += 1) {
      await pause(1_000);
      seen.leases.push(Date.now() - (await world.leaseWallMs()));
      if (look % 30 !== 0) continue;
      const { p99, max } = await world.loopDelayMs();
      seen.p99s.push(p99);
      seen.maxima.push(max);
    }
    return seen;
  }

  test(`${FLOOD_MS / 60_000} minutes of hostile clients delay neither the loop, nor a probe, nor the lease`, async () => {
    const { agentPid } = world;
    const beginSeconds = await world.lastProbeSeconds();
    await world.loopDelayMs();
    const untilMs = performance.now() + FLOOD_MS;
    const stop = new AbortController();
    const both = [flood(untilMs, stop.signal), observe(untilMs, stop.signal)] as const;
    // If one of them fails, the other stops.
    for (const one of both) one.catch(() => stop.abort());
    const [rounds, { p99s, maxima, leases }] = await Promise.all(both);
    figure("rounds of hostile clients", rounds, "rounds");
    figure("loop delay p99, the worst half minute", Math.round(Math.max(...p99s)), "ms");
    figure("loop delay at most", Math.round(Math.max(...maxima)), "ms");
    figure("oldest lease", Math.round(Math.max(...leases)), "ms");
    assert.equal(world.agentPid, agentPid, "the agent is the same");
    assert.ok(Math.max(...p99s) <= LOOP_DELAY_P99_MS_MAX, p99s.join(" "));
    assert.ok(Math.max(...maxima) <= LOOP_DELAY_MS_MAX, maxima.join(" "));
    assert.ok(Math.max(...leases) <= LEASE_MS_MAX, String(Math.max(...leases)));
    await world.assertProbedSince(beginSeconds, PROBES_MIN);
  });
});
