/**
 * What network probes cost the node, and how they treat the probed containers when the agent itself is delayed: the
 * real adapter against a server in another process.
 */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Probe } from "../../src/api/gen/core-v1.ts";
import { LagMeter } from "../../src/concurrency/lag-meter.ts";
import { ExecLimiter } from "../../src/controllers/probes/exec-limiter.ts";
import { probeRequestOf, runProbe } from "../../src/controllers/probes/run-probe.ts";
import type { ProbeOutcome } from "../../src/domain/probes/outcome.ts";
import { probesOf } from "../../src/domain/probes/probe-spec.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { createProber } from "../../src/wire/probes/prober.ts";
import { pause } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";
import type { ProbeServers } from "../support/probe-servers.ts";

const SERVER = join(import.meta.dirname, "../support/probe-server-process.ts");
const forever = new AbortController().signal;
const TIME_WAIT = "06";
const ROUNDS = 5;
const TARGETS = 200;
const PER_SECOND = 600;
const TURN_MS = 100;
const LASTS_MS = wholeSize() ? 60_000 : 3_000;

describe("probes over the network", () => {
  let child: ChildProcess;
  let ports: ProbeServers["ports"];

  before(async () => {
    child = fork(SERVER, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const [reported] = (await once(child, "message")) as [ProbeServers["ports"]];
    ports = reported;
  });

  after(async () => {
    child.kill();
    await once(child, "exit");
  });

  const parts = {
    clock: hostClock,
    prober: createProber(hostClock),
    execs: new ExecLimiter({ runtime: { execSync: () => assert.fail() }, clock: hostClock, cpus: async () => 1 }),
    lag: new LagMeter(hostClock),
    userAgent: "kube-probe/1.36",
  };

  const put = (probe: Probe, timeoutSeconds: number) => {
    const container = { name: "app", livenessProbe: { ...probe, timeoutSeconds } };
    const [spec] = probesOf(container);
    assert.ok(spec !== undefined);
    const inputs = { spec, pod: {}, container, id: "c", ip: "127.0.0.1", life: forever };
    return runProbe(probeRequestOf(inputs, parts), parts, forever);
  };

  const kinds = (): readonly Probe[] => [
    { httpGet: { path: "/status/200", port: ports.http } },
    { httpGet: { path: "/status/200", port: ports.https, scheme: "HTTPS" } },
    { tcpSocket: { port: ports.http } },
    { grpc: { port: ports.grpc } },
  ];

  /** The number of connections to the servers in TIME_WAIT on our side. */
  async function waiting(): Promise<number> {
    const far = new Set(Object.values(ports).map((port) => port.toString(16).toUpperCase().padStart(4, "0")));
    const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n").map((line) => line.trim().split(/\s+/));
    return lines.filter(([, , to = "", state]) => state === TIME_WAIT && far.has(to.split(":")[1] ?? "")).length;
  }

  test("[12.3] [12.4] [12.5] a thousand probes leave no connection in TIME_WAIT on the node", async () => {
    const cpu = process.cpuUsage();
    for (let round = 0; round < ROUNDS; round += 1) {
      const all = Array.from({ length: TARGETS }, (_, index) => put(kinds()[index % kinds().length] ?? {}, 30));
      const outcomes = await Promise.all(all);
      assert.deepEqual(
        outcomes.filter(({ kind }) => kind !== "success"),
        [],
      );
    }
    const { user, system } = process.cpuUsage(cpu);
    figure("CPU per question over the network", Math.round((user + system) / (ROUNDS * TARGETS)) / 1000, "ms");
    assert.equal(await waiting(), 0);
  });

  test("[12.3] [12.4] scenario 29: 600 probes a second over a long time succeed and leave no connection in TIME_WAIT", async () => {
    const outcomes: Promise<ProbeOutcome>[] = [];
    const sinceMs = performance.now();
    for (let turn = 0; turn < LASTS_MS / TURN_MS; turn += 1) {
      const due = Math.round((PER_SECOND * TURN_MS) / 1000);
      for (let index = 0; index < due; index += 1) outcomes.push(put(kinds()[index % kinds().length] ?? {}, 30));
      await pause(Math.max(0, sinceMs + (turn + 1) * TURN_MS - performance.now()));
    }
    const tookSeconds = (performance.now() - sinceMs) / 1000;
    const bad = (await Promise.all(outcomes)).filter(({ kind }) => kind !== "success");
    assert.deepEqual(bad, []);
    assert.equal(await waiting(), 0);
    figure("questions", outcomes.length, "questions");
    figure("questions a second", Math.round(outcomes.length / tookSeconds), "1/s");
  });

  test("[12.7] no probe fails when the agent is blocked for three seconds during 200 probes with a timeout of one second", async () => {
    const all = Array.from({ length: TARGETS }, (_, index) => put(kinds()[index % kinds().length] ?? {}, 1));
    // Every probe is in flight, and no answer has been read.
    await new Promise((resolve) => setImmediate(resolve));
    const untilMs = performance.now() + 3_000;
    while (performance.now() < untilMs);
    const outcomes = await Promise.all(all);
    assert.deepEqual(
      outcomes.filter(({ kind }) => kind === "failure" || kind === "timeout"),
      [],
    );
    figure(
      "questions of 200 that were answered all the same",
      outcomes.filter(({ kind }) => kind === "success").length,
      "questions",
    );
  });

  test("[12.3] a probe of a silent server times out, on time, while the agent is not delayed", async () => {
    const begunMs = performance.now();
    const outcome = await put({ httpGet: { path: "/slow", port: ports.http } }, 1);
    const tookMs = performance.now() - begunMs;
    assert.ok(outcome.kind === "timeout" || outcome.kind === "notRun", JSON.stringify(outcome));
    // A Node.js timer may fire a millisecond early, and a busy machine makes us wait longer.
    assert.ok(tookMs >= 999 && tookMs < 15_000, `${tookMs} ms`);
  });
});
