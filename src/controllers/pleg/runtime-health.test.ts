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

/** A runtime that is well, and pods that were last listed when the test says. */
function world() {
  const clock = new ManualClock();
  const end = new AbortController();
  const runtimeHealth = new LatestCell<RuntimeHealth>(RUNTIME_UNKNOWN);
  const seen: { lastListedMs?: number } = {};
  const running = watchRuntimeHealth(
    {
      runtime: { status: () => Promise.resolve(status), version: () => Promise.resolve(version) },
      clock,
      log: keptLog(),
      runtimeHealth,
      lastListedMs: () => seen.lastListedMs,
    },
    end.signal,
  );
  return {
    clock,
    seen,
    troubles: () => runtimeTroubles(runtimeHealth.value, clock.monotonicMs()),
    end: async () => {
      end.abort(new Error("over"));
      await running;
    },
  };
}

test("[10.1] three minutes without a finished list make the node not ready, and a list makes it ready again", async () => {
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
