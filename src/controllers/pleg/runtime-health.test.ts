import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { RUNTIME_UNKNOWN, type RuntimeHealth, runtimeTroubles } from "../../domain/node/runtime-health.ts";
import { watchRuntimeHealth } from "./runtime-health.ts";

const status = {
  conditions: ["RuntimeReady", "NetworkReady"].map((type) => ({ type, status: true, reason: "", message: "" })),
  handlers: [],
  supplementalGroupsPolicy: false,
  userNamespacesHostNetwork: false,
  info: {},
};
const version = { name: "containerd", version: "2", apiVersion: "v1" };

/** A runtime that is healthy until the test changes it; the test sets when pods were last listed. */
function world() {
  const clock = new ManualClock();
  const end = new AbortController();
  const runtimeHealth = new LatestCell<RuntimeHealth>(RUNTIME_UNKNOWN);
  const seen: { lastListedMs?: number } = {};
  let answer: (signal: AbortSignal) => Promise<typeof status> = () => Promise.resolve(status);
  const running = watchRuntimeHealth(
    {
      runtime: { status: (_options, signal) => answer(signal), version: () => Promise.resolve(version) },
      clock,
      log: keptLog(),
      runtimeHealth,
      lastListedMs: () => seen.lastListedMs,
      heartbeat: { beat: () => {} },
    },
    end.signal,
  );
  return {
    clock,
    seen,
    troubles: () => runtimeTroubles(runtimeHealth.value),
    answers: (next: typeof answer) => {
      answer = next;
    },
    end: async () => {
      end.abort(new Error("over"));
      await running;
    },
  };
}

test("[10.1] three minutes without a finished listing make the PLEG unhealthy, and a listing makes it healthy again", async () => {
  const { clock, seen, troubles, end } = world();
  await clock.advance(1_000);
  assert.deepEqual(troubles(), ["PLEG is not healthy: pleg has yet to be successful"]);
  seen.lastListedMs = 1_000;
  await clock.advance(180_000);
  assert.deepEqual(troubles(), []);
  await clock.advance(5_000);
  const [trouble, ...others] = troubles();
  assert.match(trouble ?? "", /^PLEG is not healthy: pleg was last seen active 3m\d\.\d{3}s ago; threshold is 3m0s$/);
  assert.deepEqual(others, []);
  seen.lastListedMs = clock.monotonicMs();
  await clock.advance(5_000);
  assert.deepEqual(troubles(), []);
  await end();
});

const hang = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

for (const [how, silence] of [
  ["refuses connections", () => Promise.reject(new Error("connection refused"))],
  ["hangs", hang],
] as const) {
  test(`[3.12] a runtime that ${how} is reported down after half a minute without a successful answer`, async () => {
    const { clock, seen, troubles, answers, end } = world();
    seen.lastListedMs = 0;
    await clock.advance(4_000);
    answers(silence);
    for (let passed = 0; passed < 25; passed += 5) await clock.advance(5_000);
    assert.deepEqual(troubles(), []);
    for (let passed = 0; passed < 10; passed += 5) await clock.advance(5_000);
    assert.deepEqual(troubles(), ["container runtime is down"]);
    await end();
  });
}

test("[3.12] time for which the agent itself stalled does not report the runtime down", async () => {
  const { clock, seen, troubles, answers, end } = world();
  seen.lastListedMs = 0;
  await clock.advance(4_000);
  answers(hang);
  await clock.advance(5_000);
  await clock.stall(600_000);
  assert.deepEqual(troubles(), []);
  await end();
});
