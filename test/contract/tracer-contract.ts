/** Contract suite of the Tracer port, for the tracer that sends spans to a collector and the simulator's. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inSpan } from "../../src/concurrency/in-span.ts";
import type { FinishedSpan } from "../../src/domain/tracing/trace-context.ts";
import type { Tracer } from "../../src/ports/tracer.ts";

/** A tracer that samples every trace that begins here, and the spans that have ended. */
export interface TracerWorld {
  readonly tracer: Tracer;
  readonly finished: readonly FinishedSpan[];
}

const scope = "tests";
const REMOTE = "4bf92f3577b34da6a3ce929d0e0e4736";
const remote = (flags: string) => ({ traceparent: `00-${REMOTE}-00f067aa0ba902b7-${flags}`, tracestate: "vendor=1" });
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

export function tracerContract(name: string, make: () => TracerWorld): void {
  describe(`${name} keeps the Tracer contract`, () => {
    test("a span begins a trace, and spans begun within it, also after a wait, are its children", async () => {
      const { tracer, finished } = make();
      await inSpan(tracer, { scope, name: "outer" }, async () => {
        await turn();
        await inSpan(tracer, { scope, name: "inner", kind: "client" }, turn);
      });
      const [inner, outer] = finished;
      assert.ok(inner !== undefined && outer !== undefined);
      assert.deepEqual([inner.name, inner.kind, outer.name, outer.kind], ["inner", "client", "outer", "internal"]);
      assert.equal(outer.parent, undefined);
      assert.deepEqual(inner.parent, { ...outer.context, isRemote: false });
      assert.equal(inner.context.traceId, outer.context.traceId);
      assert.notEqual(inner.context.spanId, outer.context.spanId);
      assert.ok(outer.startWallMs <= inner.startWallMs && inner.endWallMs <= outer.endWallMs);
    });

    test("concurrent spans keep their own children, and a span with parent none begins a new trace", async () => {
      const { tracer, finished } = make();
      const work = (which: string) =>
        inSpan(tracer, { scope, name: which }, async () => {
          for (let step = 0; step < 3; step += 1) {
            await turn();
            tracer.begin({ scope, name: `${which}-${step}` }).end();
          }
          tracer.begin({ scope, name: "alone", parent: "none" }).end();
        });
      await Promise.all([work("a"), work("b")]);
      for (const { name: child, parent, context } of finished) {
        const own = finished.find((span) => span.name === child.slice(0, 1));
        const wanted = child.includes("-") ? own?.context : undefined;
        assert.deepEqual(parent, wanted && { ...wanted, isRemote: false }, child);
        assert.match(context.traceId, /^[0-9a-f]{32}$/);
        assert.match(context.spanId, /^[0-9a-f]{16}$/);
      }
      assert.equal(finished.length, 10);
      assert.equal(new Set(finished.map(({ context }) => context.spanId)).size, 10);
      assert.equal(new Set(finished.map(({ context }) => context.traceId)).size, 4);
    });

    test("spans begun before a span or after its end are not its children", async () => {
      const { tracer, finished } = make();
      const before = tracer.begin({ scope, name: "before" });
      await inSpan(tracer, { scope, name: "one" }, turn);
      before.end();
      tracer.begin({ scope, name: "after" }).end();
      assert.deepEqual(
        finished.map(({ name: ended, parent }) => [ended, parent]),
        [
          ["one", undefined],
          ["before", undefined],
          ["after", undefined],
        ],
      );
    });

    test("a failing span records the exception, and the error reaches the caller", async () => {
      const { tracer, finished } = make();
      const failing = inSpan(tracer, { scope, name: "failing" }, () => Promise.reject(new TypeError("no such thing")));
      await assert.rejects(failing, new TypeError("no such thing"));
      const [span] = finished;
      assert.equal(span?.failure, "no such thing");
      assert.deepEqual(
        span.events.map((event) => [event.name, event.attributes]),
        [["exception", { "exception.type": "TypeError", "exception.message": "no such thing" }]],
      );
    });

    test("a span that has called fail keeps its failure when its work throws", async () => {
      const { tracer, finished } = make();
      const failing = inSpan(tracer, { scope, name: "failing" }, async (span) => {
        span.fail("");
        assert.equal(span.failed, true);
        throw new Error("something else");
      });
      await assert.rejects(failing);
      assert.deepEqual([finished[0]?.failure, finished[0]?.events], ["", []]);
    });

    test("a span merges initial and later attributes, and ends only once", () => {
      const { tracer, finished } = make();
      const span = tracer.begin({ scope, name: "told", attributes: { a: 1, b: "x" } });
      span.set({ b: true, c: "y" });
      span.end();
      span.end();
      assert.deepEqual(
        finished.map(({ attributes }) => attributes),
        [{ a: 1, b: true, c: "y" }],
      );
    });

    test("events of a span are recorded in order, with their times", async () => {
      const { tracer, finished } = make();
      const span = tracer.begin({ scope, name: "eventful" });
      span.event("first", { size: 1 });
      await turn();
      span.event("second", {});
      span.end();
      const [{ events, startWallMs, endWallMs } = assert.fail()] = finished;
      assert.deepEqual(
        events.map(({ name: happened, attributes }) => [happened, attributes]),
        [
          ["first", { size: 1 }],
          ["second", {}],
        ],
      );
      const times = [startWallMs, ...events.map(({ wallMs }) => wallMs), endWallMs];
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );
    });

    test("[22.3] a span continues the trace of its request's traceparent, and propagates it", () => {
      const { tracer, finished } = make();
      const span = tracer.begin({ scope, name: "asked", kind: "server", parent: remote("01") });
      const { traceparent = "", tracestate } = span.headers;
      assert.match(traceparent, new RegExp(`^00-${REMOTE}-[0-9a-f]{16}-01$`));
      assert.doesNotMatch(traceparent, /00f067aa0ba902b7/);
      assert.equal(tracestate, "vendor=1");
      span.end();
      const { parent, context } = finished[0] ?? assert.fail("it was kept");
      assert.deepEqual([parent?.spanId, parent?.isRemote, context.traceId], ["00f067aa0ba902b7", true, REMOTE]);
    });

    test("[22.3] an unsampled trace and its inner spans are not recorded, but propagated", async () => {
      const { tracer, finished } = make();
      await inSpan(tracer, { scope, name: "asked", parent: remote("00") }, async () => {
        const inner = tracer.begin({ scope, name: "inner" });
        assert.match(inner.headers["traceparent"] ?? "", new RegExp(`^00-${REMOTE}-[0-9a-f]{16}-00$`));
        inner.end();
      });
      assert.deepEqual(finished, []);
    });

    test("an invalid traceparent begins a new trace", () => {
      const { tracer, finished } = make();
      tracer.begin({ scope, name: "asked", parent: { traceparent: "00-xyz", tracestate: "" } }).end();
      assert.equal(finished[0]?.parent, undefined);
    });
  });
}
