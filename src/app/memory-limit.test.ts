import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { AGENT_MEMORY_BYTES_MAX } from "./limits.ts";
import { watchMemory } from "./memory-limit.ts";

function watched() {
  const clock = new ManualClock();
  const errors: string[] = [];
  const shutdown = new AbortController();
  const state = { usedBytes: AGENT_MEMORY_BYTES_MAX, ended: 0 };
  const log = { info: () => {}, error: (_: string, error: unknown) => void errors.push(String(error)) };
  const end = () => {
    state.ended += 1;
  };
  const running = watchMemory({ clock, log, usedBytes: () => state.usedBytes }, end, shutdown.signal);
  return { clock, errors, shutdown, state, running };
}

test("[1.20] an agent over its memory limit ends and logs its usage", async () => {
  const { clock, errors, state, running } = watched();
  await clock.advance(60_000);
  assert.equal(state.ended, 0);
  state.usedBytes += 1;
  await clock.advance(2_000);
  await running;
  assert.equal(state.ended, 1);
  assert.match(errors[0] ?? "", new RegExp(`uses ${AGENT_MEMORY_BYTES_MAX + 1} bytes of memory`));
});

test("[1.20] the memory check stops when the agent ends", async () => {
  const { clock, shutdown, running } = watched();
  await clock.advance(10_000);
  shutdown.abort(new Error("enough"));
  await running;
  assert.equal(clock.timersPending, 0);
});
