import assert from "node:assert/strict";
import { test } from "node:test";
import { container } from "../../../test/support/pods.ts";
import type { Container, PodSpec } from "../../api/gen/core-v1.ts";
import { type Counted, countResult, NO_RESULTS, type ProbeResultKind } from "./count.ts";
import { execCommand } from "./exec-command.ts";
import { hasProbe, PROBE_KINDS, type ProbeKind, type ProbeSpec, probedContainers, probesOf } from "./probe-spec.ts";
import { firstDueMs, isEarly, nextDueMs, spreadDueMs } from "./schedule.ts";
import {
  FIRST_VERDICTS,
  failedProbe,
  isAsked,
  isOnHold,
  type ProbeVerdicts,
  publishedVerdicts,
  readyByProbes,
} from "./verdicts.ts";

const TCP = { tcpSocket: { port: 80 } };

function specOf(kind: ProbeKind, own: Container["livenessProbe"] = {}): ProbeSpec {
  const [spec] = probesOf(container("app", { [`${kind}Probe`]: { ...TCP, ...own } }));
  assert.ok(spec !== undefined);
  return spec;
}

test("[12.1] what a probe does not say is what the API server would say", () => {
  const { handler, ...numbers } = specOf("liveness", { failureThreshold: 0 });
  assert.deepEqual(numbers, {
    kind: "liveness",
    initialDelayMs: 0,
    periodMs: 10_000,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
  });
  assert.equal(handler.kind, "tcp");
});

test("[12.1] regular containers and sidecars have probes, init containers and those without any have none", () => {
  const spec: PodSpec = {
    initContainers: [
      container("init", { readinessProbe: TCP }),
      container("sidecar", { restartPolicy: "Always", startupProbe: TCP }),
    ],
    containers: [container("app", { livenessProbe: TCP }), container("plain", {})],
  };
  assert.deepEqual(
    probedContainers(spec).map(({ fieldPath }) => fieldPath),
    ["spec.initContainers{sidecar}", "spec.containers{app}"],
  );
  assert.ok(!hasProbe(container("plain", {}), "startup"));
});

function count(
  kind: ProbeKind,
  own: Container["livenessProbe"],
  results: string,
  from: Counted["verdicts"] = FIRST_VERDICTS,
) {
  const spec = specOf(kind, own);
  let counted: Counted = { run: NO_RESULTS, verdicts: from };
  const seen: string[] = [];
  for (const letter of results) {
    const result: ProbeResultKind = letter === "+" ? "success" : "failure";
    counted = countResult(spec, counted, result);
    seen.push(counted.verdicts[kind]);
  }
  return seen;
}

test("[12.2] readiness begins as a failure, liveness as a success, startup as unknown", () => {
  assert.deepEqual(FIRST_VERDICTS, { readiness: "failure", liveness: "success", startup: "unknown" });
});

test("[12.1] only as many results in a row as the threshold change a verdict", () => {
  const started = { ...FIRST_VERDICTS, startup: "success" } as const;
  assert.deepEqual(count("readiness", { successThreshold: 2, failureThreshold: 2 }, "+-++-+--+", started), [
    "failure",
    "failure",
    "failure",
    "success",
    "success",
    "success",
    "success",
    "failure",
    "failure",
  ]);
  assert.deepEqual(count("liveness", { failureThreshold: 3 }, "--+---", started), [
    "success",
    "success",
    "success",
    "success",
    "success",
    "failure",
  ]);
});

test("[12.7] after its last word a probe is on hold: of startup either, of liveness a failure", () => {
  assert.deepEqual(count("startup", { failureThreshold: 2 }, "-+---"), [
    "unknown",
    "success",
    "success",
    "success",
    "success",
  ]);
  assert.deepEqual(count("startup", { failureThreshold: 2 }, "--++"), ["unknown", "failure", "failure", "failure"]);
  assert.deepEqual(count("liveness", { failureThreshold: 1 }, "-++"), ["failure", "failure", "failure"]);
  const killed = { ...FIRST_VERDICTS, liveness: "failure" } as const;
  assert.ok(isOnHold("liveness", killed) && !isOnHold("readiness", killed), "readiness goes on until it is dead");
  assert.ok(!isOnHold("liveness", FIRST_VERDICTS) && !isOnHold("startup", FIRST_VERDICTS));
});

const RUNNING = { state: "running" } as const;
const ofApp = (...kinds: readonly ProbeKind[]) =>
  container("app", Object.fromEntries(kinds.map((kind) => [`${kind}Probe`, TCP])));

for (const [name, app, verdicts, wanted] of [
  ["without probes running is started and ready", ofApp(), {}, [true, true]],
  ["a readiness probe makes it wait", ofApp("readiness"), {}, [true, false]],
  ["and gives it", ofApp("readiness"), { readiness: "success" }, [true, true]],
  ["before its startup nothing is given", ofApp("startup", "readiness"), { readiness: "success" }, [false, false]],
  ["a startup that failed is none", ofApp("startup"), { startup: "failure" }, [false, false]],
  ["a startup that succeeded is enough", ofApp("startup"), { startup: "success" }, [true, true]],
  ["liveness has no say in it", ofApp("liveness"), { liveness: "failure" }, [true, true]],
] as const) {
  test(`[12.2] started and ready: ${name}`, () => {
    const { started, ready } = readyByProbes(app, RUNNING, { ...FIRST_VERDICTS, ...verdicts });
    assert.deepEqual([started, ready], wanted);
    const ended = readyByProbes(app, { state: "exited" }, { ...FIRST_VERDICTS, ...verdicts });
    assert.deepEqual(ended, { started: false, ready: false });
  });
}

test("[12.2] [12.9] nobody asks for liveness and readiness before the startup, nor for anything but readiness while a pod ends", () => {
  const app = ofApp("startup", "liveness", "readiness");
  const asked = (verdicts: Partial<ProbeVerdicts>, lifecycle: "running" | "terminating" | "terminated" = "running") =>
    PROBE_KINDS.filter((kind) => isAsked(kind, app, { ...FIRST_VERDICTS, ...verdicts }, lifecycle));
  assert.deepEqual(asked({}), ["startup"]);
  assert.deepEqual(asked({ startup: "success" }), ["liveness", "readiness"]);
  assert.deepEqual(asked({ startup: "failure" }), []);
  assert.deepEqual(asked({ startup: "success", liveness: "failure" }), ["readiness"]);
  assert.deepEqual(asked({ startup: "success" }, "terminating"), ["readiness"]);
  assert.deepEqual(asked({}, "terminating"), []);
  assert.deepEqual(asked({ startup: "success" }, "terminated"), []);
});

test("[11.12] what was published of this very container stands, and nothing of another", () => {
  const published = { containerID: "containerd://abc", ready: true, started: true };
  assert.deepEqual(publishedVerdicts("abc", published), {
    startup: "success",
    liveness: "success",
    readiness: "success",
  });
  assert.deepEqual(publishedVerdicts("abc", { ...published, ready: false, started: false }), FIRST_VERDICTS);
  assert.equal(publishedVerdicts("bc", published), undefined);
  assert.equal(publishedVerdicts("abc", undefined), undefined);
});

test("[12.7] a container is killed for its liveness or its startup, not for its readiness", () => {
  assert.equal(failedProbe(undefined), undefined);
  assert.equal(failedProbe(FIRST_VERDICTS), undefined);
  assert.equal(failedProbe({ ...FIRST_VERDICTS, liveness: "failure" }), "liveness");
  assert.equal(failedProbe({ ...FIRST_VERDICTS, startup: "failure" }), "startup");
});

const times = (more: Partial<Parameters<typeof firstDueMs>[1]> = {}) => ({
  startedMs: 1_000,
  sinceMs: 1_000,
  nowMs: 1_000,
  ...more,
});

test("[12.1] the initial delay counts from the start, and whoever has none is given a period, but for readiness", () => {
  assert.equal(firstDueMs(specOf("readiness"), times()), 1_000);
  assert.equal(firstDueMs(specOf("readiness", { initialDelaySeconds: 5 }), times()), 6_000);
  assert.equal(firstDueMs(specOf("liveness"), times()), 11_000);
  assert.equal(firstDueMs(specOf("liveness", { initialDelaySeconds: 5 }), times()), 6_000);
  assert.equal(firstDueMs(specOf("startup", { periodSeconds: 2 }), times()), 3_000);
  const afterStartup = times({ sinceMs: 21_000 });
  assert.equal(firstDueMs(specOf("readiness", { initialDelaySeconds: 5 }), afterStartup), 21_000);
  assert.equal(firstDueMs(specOf("liveness"), afterStartup), 31_000);
});

test("[12.1] an agent that has just started spreads the probes over their periods, and keeps the initial delay", () => {
  const now = times({ nowMs: 100_000 });
  assert.equal(spreadDueMs(specOf("liveness"), now, 0.25), 102_500);
  assert.equal(spreadDueMs(specOf("liveness", { initialDelaySeconds: 120 }), now, 0.25), 121_000);
});

function dues(spec: ProbeSpec, firstMs: number, count: number, isWell: (index: number) => boolean) {
  const seen = [firstMs];
  for (let index = 0; seen.length < count; index += 1) {
    const dueMs = seen.at(-1) ?? 0;
    seen.push(nextDueMs(spec, { firstMs, dueMs, nowMs: dueMs, isWell: isWell(index) }));
  }
  return seen;
}

test("[12.1] readiness is asked a few times within its first period until it first answers well; the others once in a period", () => {
  const readiness = specOf("readiness");
  assert.deepEqual(
    dues(readiness, 500, 8, () => false),
    [500, 750, 1_250, 2_250, 4_250, 8_250, 10_500, 20_500],
  );
  assert.deepEqual(
    dues(readiness, 500, 5, (index) => index >= 1),
    [500, 750, 10_500, 20_500, 30_500],
  );
  const exec = specOf("readiness", { exec: { command: ["true"] }, periodSeconds: 5 });
  assert.deepEqual(
    dues(exec, 0, 5, () => false),
    [0, 1_000, 3_000, 5_000, 10_000],
  );
  assert.deepEqual(
    dues(specOf("liveness"), 0, 3, () => false),
    [0, 10_000, 20_000],
  );
  assert.ok(isEarly(readiness, 500, 8_250) && !isEarly(readiness, 500, 500) && !isEarly(readiness, 500, 10_500));
  assert.ok(!isEarly(specOf("liveness"), 500, 600));
});

test("[12.1] questions that were missed are left out", () => {
  const spec = specOf("liveness");
  assert.equal(nextDueMs(spec, { firstMs: 0, dueMs: 10_000, nowMs: 38_000, isWell: true }), 40_000);
  assert.equal(nextDueMs(spec, { firstMs: 0, dueMs: 10_000, nowMs: 10_000, isWell: true }), 20_000);
});

test("[12.6] only variables with a value in the spec are put into a command", () => {
  const app = container("app", {
    env: [
      { name: "PORT", value: "80" },
      { name: "SECRET", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
    ],
  });
  assert.deepEqual(execCommand(["get", "$(PORT)/$(NONE)", "[$(SECRET)]", "$$(PORT)"], app), [
    "get",
    "80/$(NONE)",
    "[]",
    "$(PORT)",
  ]);
});
