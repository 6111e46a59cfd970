import assert from "node:assert/strict";
import { test } from "node:test";
import { tracerContract } from "../../../test/contract/tracer-contract.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import type { FinishedSpan } from "../../domain/tracing/trace-context.ts";
import type { Clock } from "../../ports/clock.ts";
import { noTracer } from "../../ports/tracer.ts";
import { hostClock } from "../host/clock.ts";
import { hostRandom } from "../host/random.ts";
import { SPAN_TEXT_BYTES_MAX } from "../limits.ts";
import { createTracer, EVENTS_MAX } from "./tracer.ts";

function world(perMillion: number, clock: Clock) {
  const finished: FinishedSpan[] = [];
  const tracer = createTracer({ clock, random: hostRandom, perMillion, finished: (span) => finished.push(span) });
  return { tracer, finished };
}

tracerContract("the tracer of a collector", () => world(1_000_000, hostClock));

test("[22.3] at a sampling rate of 0 only spans with a sampled remote parent are kept", () => {
  const { tracer, finished } = world(0, hostClock);
  tracer.begin({ scope: "tests", name: "own" }).end();
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  tracer.begin({ scope: "tests", name: "asked", parent: { traceparent, tracestate: "" } }).end();
  assert.deepEqual(
    finished.map(({ name }) => name),
    ["asked"],
  );
});

test("a trace's times follow the monotonic clock after its first span's wall time", async () => {
  const manual = new ManualClock();
  let skewMs = 1_700_000_000_000;
  const clock: Clock = {
    wallMs: () => manual.wallMs() + skewMs,
    monotonicMs: () => manual.monotonicMs(),
    after: (delayMs, fire) => manual.after(delayMs, fire),
  };
  const { tracer, finished } = world(1_000_000, clock);
  const outer = tracer.begin({ scope: "tests", name: "outer" });
  await manual.advance(10);
  skewMs -= 3_600_000;
  tracer.within(outer, () => tracer.begin({ scope: "tests", name: "inner" })).end();
  await manual.advance(5);
  outer.end();
  assert.deepEqual(
    finished.map(({ name, startWallMs, endWallMs }) => [
      name,
      startWallMs - 1_700_000_000_000,
      endWallMs - startWallMs,
    ]),
    [
      ["inner", 10, 0],
      ["outer", 0, 15],
    ],
  );
});

test("a span keeps its last EVENTS_MAX events", () => {
  const { tracer, finished } = world(1_000_000, hostClock);
  const span = tracer.begin({ scope: "tests", name: "long" });
  for (let index = 0; index < EVENTS_MAX + 3; index += 1) span.event(`event-${index}`, {});
  span.end();
  const names = finished[0]?.events.map(({ name }) => name);
  assert.deepEqual([names?.length, names?.[0], names?.at(-1)], [EVENTS_MAX, "event-3", `event-${EVENTS_MAX + 2}`]);
});

test("a span's failure text and exception message are cut at the limit", () => {
  const { tracer, finished } = world(1_000_000, hostClock);
  const most = "x".repeat(SPAN_TEXT_BYTES_MAX);
  for (const text of [most, `${most}y`]) {
    const span = tracer.begin({ scope: "tests", name: "failing" });
    span.fail(text, new Error(text));
    span.end();
  }
  const texts = finished.map(({ failure, events: [event] }) => [failure, event?.attributes["exception.message"]]);
  const cut = `${most}... (1 more characters)`;
  assert.deepEqual(texts, [
    [most, most],
    [cut, cut],
  ]);
});

test("noTracer's spans have no headers, and run the work inside them", () => {
  const span = noTracer.begin({ scope: "tests", name: "none" });
  span.set({ a: 1 });
  span.event("never told", {});
  span.fail("never told");
  span.end();
  assert.deepEqual([span.headers, span.failed], [{}, false]);
  assert.equal(
    noTracer.within(span, () => 7),
    7,
  );
});
