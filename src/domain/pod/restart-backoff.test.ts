import assert from "node:assert/strict";
import { test } from "node:test";
import { type BackoffEntry, backoffLeftMs, nextBackoff } from "./restart-backoff.ts";

const CAP_MS = 300_000;

/** A container that crashes one second after each start. Returns how long each restart waited. */
function crashLoop(times: number, capMs = CAP_MS): readonly number[] {
  let entry: BackoffEntry | undefined;
  let nowMs = 1_000_000;
  const waits: number[] = [];
  for (let turn = 0; turn < times; turn += 1) {
    nowMs += 1_000;
    const finishedWallMs = nowMs;
    const leftMs = backoffLeftMs(entry, { finishedWallMs, ageMs: 0 });
    waits.push(leftMs);
    nowMs += leftMs;
    entry = nextBackoff(entry, { finishedWallMs, ageMs: nowMs - finishedWallMs }, nowMs, capMs);
  }
  return waits;
}

test("[7.13] restarts wait 0, 10, 20, 40, 80, 160, then 300 s", () => {
  assert.deepEqual(crashLoop(8), [0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
});

test("[7.13] the cap is configurable", () => {
  assert.deepEqual(crashLoop(4, 15_000), [0, 10_000, 15_000, 15_000]);
  assert.deepEqual(crashLoop(3, 1_000), [0, 1_000, 1_000]);
});

test("[7.13] a run that ended more than 10 min after its start was decided resets the backoff", () => {
  const entry = { delayMs: 160_000, decidedWallMs: 0 };
  assert.equal(backoffLeftMs(entry, { finishedWallMs: 600_000, ageMs: 0 }), 160_000);
  assert.equal(backoffLeftMs(entry, { finishedWallMs: 600_001, ageMs: 0 }), 0);
  assert.equal(nextBackoff(entry, { finishedWallMs: 600_001, ageMs: 0 }, 600_001, CAP_MS).delayMs, 10_000);
});
