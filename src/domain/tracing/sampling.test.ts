import assert from "node:assert/strict";
import { test } from "node:test";
import { newSpanId, newTraceId } from "./ids.ts";
import { isSampled } from "./sampling.ts";

const id = (low: bigint) => low.toString(16).padStart(32, "0");
const parent = (sampled: boolean) => ({ traceId: id(1n), spanId: "1".repeat(16), sampled, traceState: "" });

test("[22.3] of the traces that begin here those are kept whose id's second half, less its last bit, is below the rate", () => {
  // The bound of OpenTelemetry's sampler for one quarter: 2^61, compared with an ID shifted right by one.
  const bound = 2n ** 61n;
  assert.equal(isSampled(id((bound << 1n) - 1n), 250_000, undefined), true);
  assert.equal(isSampled(id(bound << 1n), 250_000, undefined), false);
  // The first half of an ID does not count.
  assert.equal(isSampled(`${"f".repeat(16)}${"0".repeat(16)}`, 1, undefined), true);
});

test("[22.3] a rate of none keeps none and of a million keeps all", () => {
  for (const low of [0n, 2n ** 64n - 1n]) {
    assert.equal(isSampled(id(low), 0, undefined), false);
    assert.equal(isSampled(id(low), 1_000_000, undefined), true);
  }
});

test("[22.3] whoever began a trace has decided", () => {
  assert.equal(isSampled(id(2n ** 64n - 1n), 0, parent(true)), true);
  assert.equal(isSampled(id(0n), 1_000_000, parent(false)), false);
});

test("a rate is kept by ids drawn from chance", () => {
  let state = 1;
  const draw = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const kept = Array.from({ length: 10_000 }, () => isSampled(newTraceId(draw), 300_000, undefined)).filter(Boolean);
  assert.ok(kept.length > 2_700 && kept.length < 3_300, String(kept.length));
});

test("ids are as long as they must be and never all zeros", () => {
  const draws = [0.5, 0, 0.999_999_999_9, 0.25];
  let turn = 0;
  assert.equal(
    newTraceId(() => draws[turn++] ?? 0),
    "8000000000000000ffffffff40000000",
  );
  assert.equal(
    newTraceId(() => 0),
    `${"0".repeat(31)}1`,
  );
  assert.equal(
    newSpanId(() => 0),
    `${"0".repeat(15)}1`,
  );
  assert.match(
    newSpanId(() => 0.999_999_999_999),
    /^f{16}$/,
  );
});
