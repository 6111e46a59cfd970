import assert from "node:assert/strict";
import { test } from "node:test";
import { watchdogOf } from "./watchdog.ts";

const PID = 77;

test("[1.18] the watchdog interval is half of WATCHDOG_USEC when WATCHDOG_PID is unset or this process", () => {
  for (const [environment, everyMs] of [
    [{ WATCHDOG_USEC: "30000000" }, 15_000],
    [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "77" }, 15_000],
    [{ WATCHDOG_USEC: "1000001" }, 500.0005],
  ] as const) {
    assert.deepEqual(watchdogOf(environment, PID), { kind: "on", everyMs });
  }
});

test("[1.18] the watchdog is off without WATCHDOG_USEC or with another process's WATCHDOG_PID", () => {
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

test("[1.18] an invalid limit, or one of at most 1 s, is refused with the Go kubelet's message", () => {
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
