/**
 * What hostile pods and clients cost those who mean no harm: pods beside hostile ones start, are probed and show their logs as fast as without
 * them; and an hour of hostile clients, who have one processor, delays neither the loop, nor a probe, nor the node's lease.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { pause } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { ask } from "../integration/node-metrics/scrape.ts";
import { wholeSize } from "../size.ts";
import { HostileWorld } from "../support/hostile-world.ts";

const CLIENTS = fileURLToPath(new URL("../support/hostile-client.ts", import.meta.url));
const FLOOD_MS = wholeSize() ? 3_600_000 : 60_000;
const ROUNDS = 20;
const LOOP_DELAY_P99_MS_MAX = 50;
const LOOP_DELAY_MS_MAX = 500;
/** Ten seconds between two renewals, and a quarter more. */
const LEASE_MS_MAX = 12_500;
const PROBE_EVERY_MS = 1_000;
/** A marker whose age is the time since the last exec probe: the probe itself touches it. */
const PROBED = ["sh", "-c", "cut -d. -f1 /proc/uptime >> /tmp/probed"];

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

suite("hostile pods and clients", () => {
  let world: HostileWorld;

  before(async () => {
    world = await HostileWorld.start();
    const livenessProbe = { exec: { command: PROBED }, periodSeconds: 1, failureThreshold: 3 };
    await world.create(world.podOf("probed", { livenessProbe }));
    await world.runs("probed");
  });

  after(() => world.down());

  const logs = async () => {
    const beginMs = performance.now();
    const { status } = await ask(world.cluster, world.node, "/containerLogs/default/probed/app");
    assert.equal(status, 200);
    return performance.now() - beginMs;
  };

  /** In seconds of the machine's age. */
  const probeTimes = async (): Promise<readonly number[]> => {
    const { cluster } = world;
    const text = await cluster.kubectl("exec", "probed", "--", "cat", "/tmp/probed");
    return text.trim().split("\n").map(Number);
  };

  const starts = async (name: string) => {
    const beginMs = performance.now();
    await world.create(world.podOf(name));
    await world.runs(name);
    const tookMs = performance.now() - beginMs;
    await world.delete(name);
    return tookMs;
  };

  async function round(name: string) {
    const [startMs, logMs]: [number[], number[]] = [[], []];
    for (let index = 0; index < ROUNDS; index += 1) {
      startMs.push(await starts(`${name}-${index}`));
      logMs.push(await logs());
    }
    return { start: median(startMs), log: median(logMs) };
  }

  test("pods beside hostile ones start and show their logs as fast as without them, and are probed in time", async () => {
    await round("warm");
    // As many pods as are hostile later: what a pod costs by being there is no harm.
    const ordinary = Array.from({ length: 12 }, (_, index) => `ordinary-${index}`);
    for (const name of ordinary) await world.create(world.podOf(name));
    for (const name of ordinary) await world.runs(name);
    const without = await round("without");
    for (const name of ordinary) await world.delete(name);
    const hostile = [world.longName("image"), world.endlessGrpc("grpc")].concat(
      Array.from({ length: 10 }, (_, index) => world.trickle(`trickle-${index}`)),
    );
    for (const pod of hostile) await world.create(pod);
    for (const { metadata } of hostile) if (metadata?.name !== "image") await world.runs(metadata?.name ?? "");
    const beginSeconds = (await probeTimes()).at(-1) ?? 0;
    const beside = await round("beside");
    for (const what of ["start", "log"] as const) {
      figure(`median of ${ROUNDS} without hostile pods: ${what}`, Math.round(without[what]), "ms");
      figure(`median of ${ROUNDS} beside hostile pods: ${what}`, Math.round(beside[what]), "ms");
      const limitMs = Math.max(1.1 * without[what], without[what] + 20);
      assert.ok(beside[what] <= limitMs, `${what}: ${beside[what]} ms, ${without[what]} ms without`);
    }
    assertProbed((await probeTimes()).filter((seconds) => seconds >= beginSeconds));
    for (const { metadata } of hostile) await world.delete(metadata?.name ?? "");
  });

  /** Of times in whole seconds: between two of them lie at most two, one of which is rounding. */
  function assertProbed(seconds: readonly number[]): void {
    const gaps = seconds.slice(1).map((at, index) => at - (seconds[index] ?? at));
    figure("longest time between two probes", Math.max(...gaps), "s");
    assert.ok(seconds.length > 10 && Math.max(...gaps) * 1_000 <= 2 * PROBE_EVERY_MS, gaps.join(" "));
  }

  test(`${FLOOD_MS / 60_000} minutes of hostile clients delay neither the loop, nor a probe, nor the lease`, async () => {
    const { agentPid } = world;
    const untilMs = performance.now() + FLOOD_MS;
    const beginSeconds = (await probeTimes()).at(-1) ?? 0;
    let rounds = 0;
    const flood = (async () => {
      while (performance.now() < untilMs) {
        // One processor is theirs; in the node's network, where the peers of port 10250 are.
        const args = ["-c", "1", process.execPath, CLIENTS, "10250", "0.1", world.node.address];
        const clients = spawn("taskset", args, { stdio: ["ignore", "ignore", "inherit"] });
        const [code] = (await once(clients, "exit")) as [number | null];
        assert.equal(code, 0);
        rounds += 1;
      }
    })();
    const [p99s, maxima, leases]: [number[], number[], number[]] = [[], [], []];
    await world.loopDelayMs();
    for (let look = 1; performance.now() < untilMs; look += 1) {
      await pause(1_000);
      leases.push(Date.now() - (await world.leaseWallMs()));
      if (look % 30 !== 0) continue;
      const { p99, max } = await world.loopDelayMs();
      p99s.push(p99);
      maxima.push(max);
    }
    await flood;
    figure("rounds of hostile clients", rounds, "rounds");
    figure("loop delay p99, the worst half minute", Math.round(Math.max(...p99s)), "ms");
    figure("loop delay at most", Math.round(Math.max(...maxima)), "ms");
    figure("oldest lease", Math.round(Math.max(...leases)), "ms");
    assert.equal(world.agentPid, agentPid, "the agent is the same");
    assert.ok(Math.max(...p99s) <= LOOP_DELAY_P99_MS_MAX, p99s.join(" "));
    assert.ok(Math.max(...maxima) <= LOOP_DELAY_MS_MAX, maxima.join(" "));
    assert.ok(Math.max(...leases) <= LEASE_MS_MAX, String(Math.max(...leases)));
    assertProbed((await probeTimes()).filter((seconds) => seconds >= beginSeconds));
  });
});
