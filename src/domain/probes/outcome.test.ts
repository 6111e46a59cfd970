import assert from "node:assert/strict";
import { test } from "node:test";
import {
  execOutcome,
  execTimeout,
  grpcFailure,
  grpcOutcome,
  heedingLag,
  httpFailure,
  httpOutcome,
  notRun,
  type ProbeOutcome,
  reportOf,
  resultOf,
  tcpFailure,
} from "./outcome.ts";

const http = (status: number) => httpOutcome({ status, bodyText: () => "its body" });
const failure = (step: "connect" | "answer" | "body", fault: "theirs" | "late" | "ours", detail = "EOF") => ({
  step,
  fault,
  detail,
  url: "http://198.18.0.5:80/x",
});
const ADDRESS = "198.18.0.5:80";

for (const [name, outcome, result, reported] of [
  ["200", http(200), "success", undefined],
  ["299", http(299), "success", undefined],
  [
    "302",
    http(302),
    "success",
    "ProbeWarning: Liveness probe warning: Probe terminated redirects, Response body: its body",
  ],
  [
    "399",
    http(399),
    "success",
    "ProbeWarning: Liveness probe warning: Probe terminated redirects, Response body: its body",
  ],
  ["400", http(400), "failure", "Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 400"],
  ["500", http(500), "failure", "Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 500"],
  ["101", http(101), "failure", "Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 101"],
  [
    "a server that hangs up",
    httpFailure(failure("answer", "theirs")),
    "failure",
    'Unhealthy: Liveness probe failed: Get "http://198.18.0.5:80/x": EOF',
  ],
  [
    "a server that is silent",
    httpFailure(failure("answer", "late")),
    "failure",
    'Unhealthy: Liveness probe failed: Get "http://198.18.0.5:80/x": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
  ],
  [
    "a body that does not end",
    httpFailure(failure("body", "late")),
    undefined,
    "Unhealthy: Liveness probe errored and resulted in failure state: context deadline exceeded (Client.Timeout or context cancellation while reading body)",
  ],
  [
    "a body that breaks",
    httpFailure(failure("body", "theirs", "unexpected EOF")),
    undefined,
    "Unhealthy: Liveness probe errored and resulted in failure state: unexpected EOF",
  ],
  [
    "a node without a free port",
    httpFailure(failure("connect", "ours", "dial tcp 198.18.0.5:80: connect: cannot assign requested address")),
    undefined,
    'Unhealthy: Liveness probe errored and resulted in unknown state: Get "http://198.18.0.5:80/x": dial tcp 198.18.0.5:80: connect: cannot assign requested address',
  ],
] as const satisfies readonly (readonly [string, ProbeOutcome, string | undefined, string | undefined])[]) {
  test(`[12.3] [12.7] what HTTP answers means: ${name}`, () => assertOutcome(outcome, result, reported));
}

for (const [name, outcome, result, reported] of [
  [
    "refused",
    tcpFailure(failure("connect", "theirs", "dial tcp 198.18.0.5:80: connect: connection refused"), ADDRESS),
    "failure",
    "dial tcp 198.18.0.5:80: connect: connection refused",
  ],
  ["nobody answers", tcpFailure(failure("connect", "late"), ADDRESS), "failure", "dial tcp 198.18.0.5:80: i/o timeout"],
] as const) {
  test(`[12.4] what a dial says: ${name}`, () =>
    assertOutcome(outcome, result, `Unhealthy: Liveness probe failed: ${reported}`));
}

for (const [name, outcome, reported] of [
  [
    "NOT_SERVING",
    grpcOutcome({ kind: "status", status: "NOT_SERVING" }),
    'service unhealthy (responded with "NOT_SERVING")',
  ],
  [
    "an unknown service",
    grpcOutcome({ kind: "refused", code: 5, message: "unknown service" }),
    "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service",
  ],
  [
    "a code that nobody knows",
    grpcOutcome({ kind: "refused", code: 99, message: "odd" }),
    "error: health rpc probe failed: rpc error: code = Code(99) desc = odd",
  ],
  [
    "no health service",
    grpcOutcome({ kind: "refused", code: 12, message: "none" }),
    "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): none",
  ],
  [
    "nobody there",
    grpcFailure(failure("connect", "late"), ADDRESS, 90),
    'timeout: failed to connect service "198.18.0.5:80" within 1m30s: context deadline exceeded',
  ],
  ["no answer", grpcFailure(failure("answer", "late"), ADDRESS, 1), "timeout: health rpc did not complete within 1s"],
] as const) {
  test(`[12.5] what gRPC says: ${name}`, () =>
    assertOutcome(outcome, "failure", `Unhealthy: Liveness probe failed: ${reported}`));
}

test("[12.5] SERVING is well", () =>
  assertOutcome(grpcOutcome({ kind: "status", status: "SERVING" }), "success", undefined));

test("[12.6] exit code 0 is well, any other is not and says what it printed, and a command that takes too long is killed", () => {
  assertOutcome(execOutcome(0, "noise"), "success", undefined);
  assertOutcome(execOutcome(3, "no such file\n"), "failure", "Unhealthy: Liveness probe failed: no such file\n");
  const reported = 'Unhealthy: Liveness probe failed: command timed out: "sleep 10" timed out after 2s';
  assertOutcome(execTimeout(["sleep", "10"], 2), "failure", reported);
});

test("[12.7] what is ours never counts, and a lateness of our own is ours", () => {
  const reported = "Unhealthy: Liveness probe errored and resulted in unknown state: no runtime";
  assertOutcome(notRun("no runtime"), undefined, reported);
  const late = tcpFailure(failure("connect", "late"), ADDRESS);
  assert.equal(heedingLag(late, { waitedMs: 1_000, lostMs: 99 }, 1_000), late);
  assert.equal(heedingLag(late, { waitedMs: 3_000, lostMs: 2_000 }, 1_000), late, "we listened long enough");
  const held = heedingLag(late, { waitedMs: 1_000, lostMs: 100 }, 1_000);
  assertOutcome(
    held,
    undefined,
    "Unhealthy: Liveness probe errored and resulted in unknown state: dial tcp 198.18.0.5:80: i/o timeout; the node agent itself was held up for 100 ms",
  );
  const bad = http(500);
  assert.equal(
    heedingLag(bad, { waitedMs: 5_000, lostMs: 5_000 }, 1_000),
    bad,
    "an answer is an answer, however late we hear it",
  );
});

function assertOutcome(outcome: ProbeOutcome, result: string | undefined, reported: string | undefined): void {
  assert.equal(resultOf(outcome), result);
  const event = reportOf("liveness", outcome);
  assert.equal(event === undefined ? undefined : `${event.reason}: ${event.message}`, reported);
}
