import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTraceparent, parseTraceparent, traceHeaders } from "./traceparent.ts";

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
