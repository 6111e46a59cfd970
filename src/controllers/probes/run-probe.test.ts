import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../sim/virtual-clock.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { container } from "../../../test/support/pods.ts";
import type { Probe } from "../../api/gen/core-v1.ts";
import { DeadlineError, withDeadline } from "../../concurrency/deadline.ts";
import { LagMeter } from "../../concurrency/lag-meter.ts";
import { OUTPUT_BYTES_MAX } from "../../domain/limits.ts";
import { probesOf } from "../../domain/probes/probe-spec.ts";
import type { Clock } from "../../ports/clock.ts";
import { ProbeError, type Prober } from "../../ports/prober.ts";
import type { ExecResult } from "../../ports/runtime.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { EXECS_PER_CPU, ExecLimiter } from "./exec-limiter.ts";
import { probeRequestOf, runProbe } from "./run-probe.ts";

const patient = new AbortController().signal;
const noProber: Prober = {
  http: () => assert.fail("no probe is sent"),
  tcp: () => assert.fail("no probe is sent"),
  grpc: () => assert.fail("no probe is sent"),
};

function world(clock: Clock, prober: Partial<Prober>, execSync: (seconds: number) => Promise<ExecResult>) {
  const runtime = { execSync: (_id: string, _command: readonly string[], seconds: number) => execSync(seconds) };
  const execs = new ExecLimiter({ runtime, clock, cpus: async () => 1 });
  const parts = {
    clock,
    prober: { ...noProber, ...prober },
    execs,
    lag: new LagMeter(clock),
    userAgent: "kube-probe/1.36",
  };
  return (probe: Probe, id = "c1", signal = patient) => {
    const app = container("app", { livenessProbe: probe });
    const [spec] = probesOf(app);
    assert.ok(spec !== undefined);
    const pod = { metadata: { name: "p", namespace: "ns", uid: "u" } };
    const inputs = { spec, pod, container: app, id, ip: "198.18.0.5", life: patient };
    return runProbe(probeRequestOf(inputs, parts), parts, signal);
  };
}

const noExec = () => assert.fail("no command is run");
const result = (exitCode: number, stdout = "", stderr = ""): ExecResult => ({
  exitCode,
  stdout: Buffer.from(stdout),
  stderr: Buffer.from(stderr),
});
const TCP: Probe = { tcpSocket: { port: 80 } };
const EXEC: Probe = { exec: { command: ["check"] }, timeoutSeconds: 2 };

test("[12.7] a probe that fails for the agent's own reason is tried three times, and a successful retry counts", async () => {
  let tries = 0;
  const failing = (most: number) => async () => {
    tries += 1;
    if (tries < most) throw new ProbeError("connect", "ours", "no free port");
  };
  const clock = new VirtualClock();
  assert.deepEqual(await world(clock, { tcp: failing(3) }, noExec)(TCP), { kind: "success" });
  assert.equal(tries, 3);
  tries = 0;
  const outcome = await world(clock, { tcp: failing(9) }, noExec)(TCP);
  assert.deepEqual([outcome, tries], [{ kind: "notRun", state: "unknown", message: "no free port" }, 3]);
});

test("[12.7] an unknown port name, an unknown handler and an internal error do not count as probe failures", async () => {
  const clock = new VirtualClock();
  const broken = world(clock, { tcp: () => Promise.reject(new Error("a bug")) }, noExec);
  assert.equal((await broken(TCP)).kind, "notRun");
  assert.deepEqual(await broken({ tcpSocket: { port: "none" } }), {
    kind: "notRun",
    state: "unknown",
    message: 'strconv.Atoi: parsing "none": invalid syntax',
  });
  assert.deepEqual(await broken({}), {
    kind: "notRun",
    state: "unknown",
    message: "missing probe handler for p_ns(u):app",
  });
});

test("[12.6] an exec probe's exit code decides, and its failure holds stdout and stderr up to 10 KB", async () => {
  const clock = new VirtualClock();
  const run = (answer: ExecResult) => world(clock, {}, async () => answer)(EXEC);
  assert.deepEqual(await run(result(0, "fine")), { kind: "success" });
  assert.deepEqual(await run(result(1, "out ", "err")), { kind: "failure", message: "out err" });
  const most = "x".repeat(OUTPUT_BYTES_MAX);
  assert.deepEqual(await run(result(1, most)), { kind: "failure", message: most });
  assert.deepEqual(await run(result(1, `${most}y`)), { kind: "failure", message: most });
  assert.deepEqual(await run(result(1, most, "y")), { kind: "failure", message: most });
});

test("[12.6] an exec probe killed at its timeout fails; one that a silent or failing runtime did not run does not", async () => {
  const clock = new VirtualClock();
  const late = new RuntimeError("ExecSync", "deadlineExceeded", "too long");
  const outcome = await world(clock, {}, () => Promise.reject(late))(EXEC);
  assert.deepEqual(outcome, { kind: "timeout", message: 'command timed out: "check" timed out after 2s' });
  const silent = world(clock, {}, async () => {
    await new Promise<void>((resolve) => void clock.after(122_000, resolve));
    throw late;
  })(EXEC);
  await clock.advance(600_000);
  assert.equal((await silent).kind, "notRun");
  const gone = await world(clock, {}, () => Promise.reject(new RuntimeError("ExecSync", "notFound", "gone")))(EXEC);
  assert.deepEqual(gone, { kind: "notRun", state: "unknown", message: "rpc error: code = NotFound desc = gone" });
});

test("[12.6] exec probes run up to EXECS_PER_CPU at once, equal ones share a run, and slow ones free their slot", async () => {
  const clock = new VirtualClock();
  let [running, most, runs] = [0, 0, 0];
  const probeAll = world(clock, {}, async () => {
    runs += 1;
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => void clock.after(300, resolve));
    running -= 1;
    return result(0);
  });
  const all = Array.from({ length: 20 }, (_, index) => [
    probeAll(EXEC, `c${index}`),
    probeAll(EXEC, `c${index}`),
  ]).flat();
  await clock.advance(10_000);
  assert.ok((await Promise.all(all)).every(({ kind }) => kind === "success"));
  assert.deepEqual([runs, most], [20, EXECS_PER_CPU]);
  let begun = 0;
  const stuck = world(clock, {}, () => {
    begun += 1;
    return new Promise(() => {});
  });
  const stop = new AbortController();
  const hung = Array.from({ length: 2 * EXECS_PER_CPU }, (_, index) => stuck(EXEC, `c${index}`, stop.signal));
  await clock.advance(900);
  assert.equal(begun, EXECS_PER_CPU);
  await clock.advance(200);
  assert.equal(begun, 2 * EXECS_PER_CPU, "slow runs no longer count");
  stop.abort(new Error("enough"));
  for (const each of hung) await assert.rejects(each, /enough/);
});

test("[12.7] a response that is late because the agent stalled does not count, and the probe is sent again", async () => {
  const clock = new ManualClock();
  let tries = 0;
  const tcp: Prober["tcp"] = async (_target, limitMs, signal) => {
    tries += 1;
    if (tries > 1) return;
    const silence = (limited: AbortSignal) =>
      new Promise<void>((_, reject) => {
        limited.addEventListener("abort", () => reject(limited.reason), { once: true });
      });
    await withDeadline(clock, limitMs, signal, silence).catch((error: unknown) => {
      throw error instanceof DeadlineError ? new ProbeError("connect", "late", "late") : error;
    });
  };
  const held = world(clock, { tcp }, noExec)(TCP);
  await clock.advance(200);
  await clock.stall(3_000);
  await clock.advance(0);
  assert.deepEqual([await held, tries], [{ kind: "success" }, 2]);
  tries = 0;
  const slow = world(clock, { tcp }, noExec)(TCP);
  await clock.advance(1_000);
  assert.deepEqual([(await slow).kind, tries], ["timeout", 1]);
});

test("[12.7] a target that never responds times out even if the agent stalls most of the time", async () => {
  const clock = new ManualClock();
  const tcp: Prober["tcp"] = (_target, limitMs, signal) =>
    withDeadline(
      clock,
      limitMs,
      signal,
      (limited) => new Promise<void>((_, reject) => limited.addEventListener("abort", () => reject(limited.reason))),
    ).catch((error: unknown) => {
      throw error instanceof DeadlineError ? new ProbeError("connect", "late", "late") : error;
    });
  const outcome = world(clock, { tcp }, noExec)(TCP);
  for (let turn = 0; turn < 60; turn += 1) {
    await clock.advance(50);
    await clock.stall(100);
    await clock.advance(0);
  }
  assert.equal((await outcome).kind, "timeout");
});
