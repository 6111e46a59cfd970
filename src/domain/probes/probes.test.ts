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
  isOnHold,
  type ProbeVerdicts,
  publishedVerdicts,
  readyByProbes,
  shouldProbe,
} from "./verdicts.ts";

const TCP = { tcpSocket: { port: 80 } };

function specOf(kind: ProbeKind, own: Container["livenessProbe"] = {}): ProbeSpec {
  const [spec] = probesOf(container("app", { [`${kind}Probe`]: { ...TCP, ...own } }));
  assert.ok(spec !== undefined);
  return spec;
}

test("[12.1] missing probe fields get the API server's defaults", () => {
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

test("[12.1] regular containers and sidecars are probed, init containers are not", () => {
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

test("[12.2] initial verdicts are failure for readiness, success for liveness, unknown for startup", () => {
  assert.deepEqual(FIRST_VERDICTS, { readiness: "failure", liveness: "success", startup: "unknown" });
});

test("[12.1] a verdict changes only after as many results in a row as its threshold", () => {
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

test("[12.7] a probe is on hold after its last verdict: either one for startup, failure for liveness", () => {
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
  assert.ok(
    isOnHold("liveness", killed) && !isOnHold("readiness", killed),
    "readiness probes continue until the container exits",
  );
  assert.ok(!isOnHold("liveness", FIRST_VERDICTS) && !isOnHold("startup", FIRST_VERDICTS));
});

const RUNNING = { state: "running" } as const;
const ofApp = (...kinds: readonly ProbeKind[]) =>
  container("app", Object.fromEntries(kinds.map((kind) => [`${kind}Probe`, TCP])));

for (const [name, app, verdicts, wanted] of [
  ["a running container without probes is both", ofApp(), {}, [true, true]],
  ["a readiness probe without a result makes it not ready", ofApp("readiness"), {}, [true, false]],
  ["a successful readiness probe makes it ready", ofApp("readiness"), { readiness: "success" }, [true, true]],
  [
    "neither before the startup probe succeeded",
    ofApp("startup", "readiness"),
    { readiness: "success" },
    [false, false],
  ],
  ["neither after a failed startup probe", ofApp("startup"), { startup: "failure" }, [false, false]],
  ["both after a successful startup probe", ofApp("startup"), { startup: "success" }, [true, true]],
  ["a failed liveness probe changes neither", ofApp("liveness"), { liveness: "failure" }, [true, true]],
] as const) {
  test(`[12.2] started and ready: ${name}`, () => {
    const { started, ready } = readyByProbes(app, RUNNING, { ...FIRST_VERDICTS, ...verdicts });
    assert.deepEqual([started, ready], wanted);
    const ended = readyByProbes(app, { state: "exited" }, { ...FIRST_VERDICTS, ...verdicts });
    assert.deepEqual(ended, { started: false, ready: false });
  });
}

test("[12.2] [12.9] liveness and readiness wait for the startup probe; only readiness runs while the pod terminates", () => {
  const app = ofApp("startup", "liveness", "readiness");
  const probed = (verdicts: Partial<ProbeVerdicts>, lifecycle: "running" | "terminating" | "terminated" = "running") =>
    PROBE_KINDS.filter((kind) => shouldProbe(kind, app, { ...FIRST_VERDICTS, ...verdicts }, lifecycle));
  assert.deepEqual(probed({}), ["startup"]);
  assert.deepEqual(probed({ startup: "success" }), ["liveness", "readiness"]);
  assert.deepEqual(probed({ startup: "failure" }), []);
  assert.deepEqual(probed({ startup: "success", liveness: "failure" }), ["readiness"]);
  assert.deepEqual(probed({ startup: "success" }, "terminating"), ["readiness"]);
  assert.deepEqual(probed({}, "terminating"), []);
  assert.deepEqual(probed({ startup: "success" }, "terminated"), []);
});

test("[11.12] published verdicts count for the same container ID only", () => {
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

test("[12.7] a failed liveness or startup probe kills a container, a failed readiness probe does not", () => {
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

test("[12.1] the initial delay counts from the container's start; without one, all but readiness wait one period", () => {
  assert.equal(firstDueMs(specOf("readiness"), times()), 1_000);
  assert.equal(firstDueMs(specOf("readiness", { initialDelaySeconds: 5 }), times()), 6_000);
  assert.equal(firstDueMs(specOf("liveness"), times()), 11_000);
  assert.equal(firstDueMs(specOf("liveness", { initialDelaySeconds: 5 }), times()), 6_000);
  assert.equal(firstDueMs(specOf("startup", { periodSeconds: 2 }), times()), 3_000);
  const afterStartup = times({ sinceMs: 21_000 });
  assert.equal(firstDueMs(specOf("readiness", { initialDelaySeconds: 5 }), afterStartup), 21_000);
  assert.equal(firstDueMs(specOf("liveness"), afterStartup), 31_000);
});

test("[12.1] a restarted agent spreads probes over their periods and keeps the initial delay", () => {
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

test("[12.1] readiness probes run several times in their first period until the first success; others once per period", () => {
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

test("[12.1] missed probe periods are skipped", () => {
  const spec = specOf("liveness");
  assert.equal(nextDueMs(spec, { firstMs: 0, dueMs: 10_000, nowMs: 38_000, isWell: true }), 40_000);
  assert.equal(nextDueMs(spec, { firstMs: 0, dueMs: 10_000, nowMs: 10_000, isWell: true }), 20_000);
});

test("[12.6] exec commands expand variables with a literal value; those from references become empty", () => {
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
