import assert from "node:assert/strict";
import { test } from "node:test";
import { watchdogOf } from "./watchdog.ts";

const PID = 77;

test("[1.18] the watchdog is fed at half of its limit, by the process that it watches", () => {
  for (const [environment, everyMs] of [
    [{ WATCHDOG_USEC: "30000000" }, 15_000],
    [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "77" }, 15_000],
    [{ WATCHDOG_USEC: "1000001" }, 500.0005],
  ] as const) {
    assert.deepEqual(watchdogOf(environment, PID), { kind: "on", everyMs });
  }
});

test("[1.18] without a limit, or with one for another process, there is no watchdog", () => {
  for (const environment of [
    {},
    { WATCHDOG_USEC: "" },
    { WATCHDOG_PID: "77" },
    { WATCHDOG_USEC: "30000000", WATCHDOG_PID: "78" },
    { WATCHDOG_USEC: "5", WATCHDOG_PID: "78" },
  ]) {
    assert.deepEqual(watchdogOf(environment, PID), { kind: "off" }, JSON.stringify(environment));
  }
});

test("[1.18] a limit that is none, or of a second or less, is refused in the Go kubelet's words", () => {
  for (const [environment, fault] of [
    [{ WATCHDOG_USEC: "1000000" }, "configure watchdog timeout too small: 1000ms"],
    [{ WATCHDOG_USEC: "0" }, "configure watchdog: error WATCHDOG_USEC must be a positive number"],
    [{ WATCHDOG_USEC: "-1" }, "configure watchdog: error WATCHDOG_USEC must be a positive number"],
    [{ WATCHDOG_USEC: "30s" }, 'configure watchdog: error converting WATCHDOG_USEC: "30s"'],
    [{ WATCHDOG_USEC: "9000000", WATCHDOG_PID: "x" }, 'configure watchdog: error converting WATCHDOG_PID: "x"'],
  ] as const) {
    assert.deepEqual(watchdogOf(environment, PID), { kind: "wrong", fault: `create health checker: ${fault}` });
  }
});
