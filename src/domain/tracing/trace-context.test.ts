import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatTraceparent,
  isSampled,
  newSpanId,
  newTraceId,
  parseTraceparent,
  traceHeaders,
} from "./trace-context.ts";

const id = (low: bigint) => low.toString(16).padStart(32, "0");
const parent = (sampled: boolean) => ({ traceId: id(1n), spanId: "1".repeat(16), sampled, traceState: "" });

test("[22.3] a new trace is sampled when the second half of its ID, shifted right by one, is below the rate", () => {
  // The bound of OpenTelemetry's sampler for one quarter: 2^61, compared with an ID shifted right by one.
  const bound = 2n ** 61n;
  assert.equal(isSampled(id((bound << 1n) - 1n), 250_000, undefined), true);
  assert.equal(isSampled(id(bound << 1n), 250_000, undefined), false);
  // The first half of an ID does not count.
  assert.equal(isSampled(`${"f".repeat(16)}${"0".repeat(16)}`, 1, undefined), true);
});

test("[22.3] rate 0 samples no trace, rate 1000000 every trace", () => {
  for (const low of [0n, 2n ** 64n - 1n]) {
    assert.equal(isSampled(id(low), 0, undefined), false);
    assert.equal(isSampled(id(low), 1_000_000, undefined), true);
  }
});

test("[22.3] the parent's sampling decision wins", () => {
  assert.equal(isSampled(id(2n ** 64n - 1n), 0, parent(true)), true);
  assert.equal(isSampled(id(0n), 1_000_000, parent(false)), false);
});

test("traces with random IDs are sampled at about the rate", () => {
  let state = 1;
  const draw = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const kept = Array.from({ length: 10_000 }, () => isSampled(newTraceId(draw), 300_000, undefined)).filter(Boolean);
  assert.ok(kept.length > 2_700 && kept.length < 3_300, String(kept.length));
});

test("trace and span IDs have full length and are never all zeros", () => {
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

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const context = { traceId: TRACE, spanId: SPAN, sampled: true, traceState: "" };

test("[22.3] a formatted traceparent parses to the same context", () => {
  for (const sampled of [true, false]) {
    const header = formatTraceparent({ ...context, sampled });
    assert.equal(header, `00-${TRACE}-${SPAN}-0${sampled ? 1 : 0}`);
    assert.deepEqual(parseTraceparent(header), { ...context, sampled, isRemote: true });
  }
});

for (const [why, header, sampled] of [
  ["of a later version with more fields", `01-${TRACE}-${SPAN}-01-more`, true],
  ["with unknown flags", `00-${TRACE}-${SPAN}-fe`, false],
  ["with spaces around it", ` 00-${TRACE}-${SPAN}-03 `, true],
] as const) {
  test(`a traceparent ${why} is accepted`, () => assert.equal(parseTraceparent(header)?.sampled, sampled));
}

for (const [why, header] of [
  ["that is empty", ""],
  ["of version ff", `ff-${TRACE}-${SPAN}-01`],
  ["of version 00 with more fields", `00-${TRACE}-${SPAN}-01-more`],
  ["in upper case", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ["with an all-zero trace ID", `00-${"0".repeat(32)}-${SPAN}-01`],
  ["with an all-zero span ID", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["with a short span ID", `00-${TRACE}-${SPAN.slice(1)}-01`],
] as const) {
  test(`a traceparent ${why} is rejected`, () => assert.equal(parseTraceparent(header), undefined));
}

test("tracestate is passed on unchanged, or dropped if invalid", () => {
  const header = formatTraceparent(context);
  const handed = (state: string) => traceHeaders(parseTraceparent(header, state) ?? assert.fail())["tracestate"];
  assert.equal(handed("a=1,b=2"), "a=1,b=2");
  assert.equal(handed("a=\r\nx: y"), undefined);
  assert.equal(handed(`a=${"x".repeat(512)}`), undefined);
  assert.equal(handed(""), undefined);
});
