import assert from "node:assert/strict";
import { test } from "node:test";
import {
  discountLag,
  execOutcome,
  execTimeout,
  grpcFailure,
  grpcOutcome,
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
    "connection closed before the response",
    httpFailure(failure("answer", "theirs")),
    "failure",
    'Unhealthy: Liveness probe failed: Get "http://198.18.0.5:80/x": EOF',
  ],
  [
    "no response in time",
    httpFailure(failure("answer", "late")),
    "failure",
    'Unhealthy: Liveness probe failed: Get "http://198.18.0.5:80/x": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
  ],
  [
    "no end of the body in time",
    httpFailure(failure("body", "late")),
    undefined,
    "Unhealthy: Liveness probe errored and resulted in failure state: context deadline exceeded (Client.Timeout or context cancellation while reading body)",
  ],
  [
    "body cut short",
    httpFailure(failure("body", "theirs", "unexpected EOF")),
    undefined,
    "Unhealthy: Liveness probe errored and resulted in failure state: unexpected EOF",
  ],
  [
    "no free local port",
    httpFailure(failure("connect", "ours", "dial tcp 198.18.0.5:80: connect: cannot assign requested address")),
    undefined,
    'Unhealthy: Liveness probe errored and resulted in unknown state: Get "http://198.18.0.5:80/x": dial tcp 198.18.0.5:80: connect: cannot assign requested address',
  ],
] as const satisfies readonly (readonly [string, ProbeOutcome, string | undefined, string | undefined])[]) {
  test(`[12.3] [12.7] HTTP probe outcome: ${name}`, () => assertOutcome(outcome, result, reported));
}

for (const [name, outcome, result, reported] of [
  [
    "connection refused",
    tcpFailure(failure("connect", "theirs", "dial tcp 198.18.0.5:80: connect: connection refused"), ADDRESS),
    "failure",
    "dial tcp 198.18.0.5:80: connect: connection refused",
  ],
  [
    "no connection in time",
    tcpFailure(failure("connect", "late"), ADDRESS),
    "failure",
    "dial tcp 198.18.0.5:80: i/o timeout",
  ],
] as const) {
  test(`[12.4] TCP probe outcome: ${name}`, () =>
    assertOutcome(outcome, result, `Unhealthy: Liveness probe failed: ${reported}`));
}

for (const [name, outcome, reported] of [
  [
    "NOT_SERVING",
    grpcOutcome({ kind: "status", status: "NOT_SERVING" }),
    'service unhealthy (responded with "NOT_SERVING")',
  ],
  [
    "unknown service",
    grpcOutcome({ kind: "refused", code: 5, message: "unknown service" }),
    "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service",
  ],
  [
    "unknown status code",
    grpcOutcome({ kind: "refused", code: 99, message: "odd" }),
    "error: health rpc probe failed: rpc error: code = Code(99) desc = odd",
  ],
  [
    "no health service",
    grpcOutcome({ kind: "refused", code: 12, message: "none" }),
    "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): none",
  ],
  [
    "no connection in time",
    grpcFailure(failure("connect", "late"), ADDRESS, 90),
    'timeout: failed to connect service "198.18.0.5:80" within 1m30s: context deadline exceeded',
  ],
  [
    "no response in time",
    grpcFailure(failure("answer", "late"), ADDRESS, 1),
    "timeout: health rpc did not complete within 1s",
  ],
] as const) {
  test(`[12.5] gRPC probe outcome: ${name}`, () =>
    assertOutcome(outcome, "failure", `Unhealthy: Liveness probe failed: ${reported}`));
}

test("[12.5] gRPC SERVING is success", () =>
  assertOutcome(grpcOutcome({ kind: "status", status: "SERVING" }), "success", undefined));

test("[12.6] an exec probe succeeds on exit code 0, fails with its output otherwise, and fails on a timeout", () => {
  assertOutcome(execOutcome(0, "noise"), "success", undefined);
  assertOutcome(execOutcome(3, "no such file\n"), "failure", "Unhealthy: Liveness probe failed: no such file\n");
  const reported = 'Unhealthy: Liveness probe failed: command timed out: "sleep 10" timed out after 2s';
  assertOutcome(execTimeout(["sleep", "10"], 2), "failure", reported);
});

test("[12.7] a probe that did not run, or timed out while the event loop lagged, does not count", () => {
  const reported = "Unhealthy: Liveness probe errored and resulted in unknown state: no runtime";
  assertOutcome(notRun("no runtime"), undefined, reported);
  const late = tcpFailure(failure("connect", "late"), ADDRESS);
  assert.equal(discountLag(late, { waitedMs: 1_000, lostMs: 99 }, 1_000), late);
  assert.equal(
    discountLag(late, { waitedMs: 3_000, lostMs: 2_000 }, 1_000),
    late,
    "the probe waited long enough without the lag",
  );
  const held = discountLag(late, { waitedMs: 1_000, lostMs: 100 }, 1_000);
  assertOutcome(
    held,
    undefined,
    "Unhealthy: Liveness probe errored and resulted in unknown state: dial tcp 198.18.0.5:80: i/o timeout; the node agent itself was held up for 100 ms",
  );
  const bad = http(500);
  assert.equal(discountLag(bad, { waitedMs: 5_000, lostMs: 5_000 }, 1_000), bad, "a late response counts all the same");
});

function assertOutcome(outcome: ProbeOutcome, result: string | undefined, reported: string | undefined): void {
  assert.equal(resultOf(outcome), result);
  const event = reportOf("liveness", outcome);
  assert.equal(event === undefined ? undefined : `${event.reason}: ${event.message}`, reported);
}
