/**
 * What hostile pods and clients cost the other pods of the node: pods beside hostile ones start, are probed and show their logs as fast as
 * beside ordinary ones; and an hour of hostile clients, which have one core, delays neither the event loop, nor a probe, nor the node's lease.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { pause } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { ask } from "../integration/node-metrics/scrape.ts";
import { wholeSize } from "../size.ts";
import { assertHeldOff } from "../support/hostile-outcomes.ts";
import { HostileWorld } from "../support/hostile-world.ts";

const CLIENTS = fileURLToPath(new URL("../support/hostile-client.ts", import.meta.url));
const FLOOD_MS = wholeSize() ? 3_600_000 : 60_000;
const SCALE = wholeSize() ? "1" : "0.1";
/** The machine's speed changes by the minute: ordinary and hostile neighbours take turns. */
const TURNS = wholeSize() ? 4 : 3;
const ROUNDS = 20;
const LOOP_DELAY_P99_MS_MAX = 50;
const LOOP_DELAY_MS_MAX = 500;
/** Ten seconds between two renewals, and a quarter more. */
const LEASE_MS_MAX = 12_500;
const LONG_NAME = "image";
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

  interface Measured {
    readonly start: number[];
    readonly log: number[];
    readonly probe: number[];
    /** Of the agent, for each start and all else meanwhile. */
    readonly cpu: number[];
  }

  async function measure(into: Measured, name: string): Promise<void> {
    const [before, cpuMs] = [await world.probesOf("probed"), await world.agentCpuMs()];
    for (let index = 0; index < ROUNDS; index += 1) {
      into.start.push(await starts(`${name}-${index}`));
      into.log.push(await logs());
    }
    const after = await world.probesOf("probed");
    into.cpu.push(((await world.agentCpuMs()) - cpuMs) / ROUNDS);
    into.probe.push((after.totalMs - before.totalMs) / (after.count - before.count));
  }

  /** Runs these pods while it measures. */
  async function measureBeside(pods: readonly Pod[], into: Measured, name: string): Promise<void> {
    for (const pod of pods) await world.create(pod);
    for (const { metadata } of pods) if (metadata?.name !== LONG_NAME) await world.runs(metadata?.name ?? "");
    const beginSeconds = (await probeTimes()).at(-1) ?? 0;
    await measure(into, name);
    await assertProbedSince(beginSeconds, 1);
    for (const { metadata } of pods) await world.delete(metadata?.name ?? "");
  }

  test("pods beside hostile ones start, are probed and show their logs as fast as beside ordinary ones", async () => {
    const many = (make: (name: string) => Pod, name: string, count: number) =>
      Array.from({ length: count }, (_, index) => make(`${name}-${index}`));
    const ordinary = many((name) => world.podOf(name), "ordinary", 12);
    const hostile = [
      world.longName(LONG_NAME),
      world.endlessGrpc("grpc"),
      ...many((name) => world.trickle(name), "trickle", 10),
    ];
    const without: Measured = { start: [], log: [], probe: [], cpu: [] };
    const beside: Measured = { start: [], log: [], probe: [], cpu: [] };
    await measure({ start: [], log: [], probe: [], cpu: [] }, "warm");
    for (let turn = 0; turn < TURNS; turn += 1) {
      await measureBeside(ordinary, without, `without-${turn}`);
      await measureBeside(hostile, beside, `beside-${turn}`);
    }
    for (const what of ["start", "log", "probe", "cpu"] as const) {
      const [withoutMs, besideMs] = [median(without[what]), median(beside[what])];
      figure(`${what}: median beside ordinary pods`, Math.round(withoutMs), "ms");
      figure(`${what}: median beside hostile pods`, Math.round(besideMs), "ms");
    }
    for (const what of ["start", "log", "probe"] as const) {
      const [withoutMs, besideMs] = [median(without[what]), median(beside[what])];
      const limitMs = Math.max(1.1 * withoutMs, withoutMs + 20);
      assert.ok(besideMs <= limitMs, `${what}: ${besideMs} ms, ${withoutMs} ms beside ordinary pods`);
    }
  });

  /** Times are whole seconds: two seconds between two probes are one second, rounded. */
  async function assertProbedSince(beginSeconds: number, probesMin: number): Promise<void> {
    const seconds = (await probeTimes()).filter((at) => at >= beginSeconds);
    const gaps = seconds.slice(1).map((at, index) => at - (seconds[index] ?? at));
    figure("longest time between two probes", Math.max(...gaps), "s");
    assert.ok(gaps.length >= probesMin && Math.max(...gaps) * 1_000 <= 2 * PROBE_EVERY_MS, gaps.join(" "));
  }

  test(`${FLOOD_MS / 60_000} minutes of hostile clients delay neither the loop, nor a probe, nor the lease`, async () => {
    const { agentPid } = world;
    const untilMs = performance.now() + FLOOD_MS;
    const beginSeconds = (await probeTimes()).at(-1) ?? 0;
    let rounds = 0;
    const flood = (async () => {
      while (performance.now() < untilMs) {
        const args = ["-c", "1", process.execPath, CLIENTS, "10250", SCALE, world.node.address];
        const { stdout } = await promisify(execFile)("taskset", args);
        assertHeldOff(stdout, { isNear: false });
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
    await assertProbedSince(beginSeconds, (0.8 * FLOOD_MS) / PROBE_EVERY_MS);
  });
});
