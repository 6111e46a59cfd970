import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import type { CgroupDriver } from "../../domain/runtime/runtime-info.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { requireRoot, settleCgroupDriver } from "./cgroup-driver.ts";

/** Returns the given answers in order and records the time of each request. */
function world(answers: readonly (CgroupDriver | Error)[]) {
  const clock = new ManualClock();
  const askedMs: number[] = [];
  const said: string[] = [];
  const stop = new AbortController();
  const runtime = {
    cgroupDriver: () => {
      const answer = answers[askedMs.length];
      askedMs.push(clock.monotonicMs());
      return answer === undefined || answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  };
  const log = { info: (_: number, message: string) => void said.push(message), error: () => {} };
  return { clock, askedMs, said, stop, settled: settleCgroupDriver("cgroupfs", { runtime, clock, log }, stop.signal) };
}

const busy = new RuntimeError("RuntimeConfig", "unavailable", "not yet");

void test("[14.2] the runtime's cgroup driver overrides the configured one", async () => {
  const { settled, askedMs } = world(["systemd"]);
  assert.deepEqual(await settled, { kind: "runtime", driver: "systemd" });
  assert.deepEqual(askedMs, [0]);
});

void test("[14.2] a runtime without RuntimeConfig leaves the configured cgroup driver, at once", async () => {
  const { settled, askedMs, said } = world([new RuntimeError("RuntimeConfig", "unimplemented", "unknown method")]);
  assert.deepEqual(await settled, { kind: "configured", driver: "cgroupfs" });
  assert.deepEqual(
    [askedMs, said],
    [
      [0],
      [
        "CRI implementation should be updated to support RuntimeConfig. Falling back to using cgroupDriver from kubelet config.",
      ],
    ],
  );
});

void test("[14.2] the runtime is queried three times, two seconds apart", async () => {
  const late = world([busy, busy, "cgroupfs"]);
  await late.clock.advance(4000);
  assert.deepEqual(await late.settled, { kind: "runtime", driver: "cgroupfs" });
  assert.deepEqual(late.askedMs, [0, 2000, 4000]);
  const never = world([busy, busy, busy, "cgroupfs"]);
  await never.clock.advance(10_000);
  assert.deepEqual(await never.settled, { kind: "noAnswer", error: busy });
  assert.equal(never.askedMs.length, 3);
});

void test("[14.3] an unusable cgroup root fails startup with the Go kubelet's message", async () => {
  const flawed = (validationError: string | undefined) => requireRoot({ validationError: async () => validationError });
  await flawed(undefined);
  await assert.rejects(flawed('cgroup ["x"] has some missing controllers: cpu'), {
    message: 'failed to run Kubelet: invalid configuration: cgroup ["x"] has some missing controllers: cpu',
  });
});

void test("a shutdown ends the query for the cgroup driver", async () => {
  const { settled, stop, clock } = world([busy, busy, busy]);
  await clock.advance(1000);
  stop.abort(new Error("over"));
  await assert.rejects(settled, { message: "over" });
  assert.equal(clock.timersPending, 0);
});
