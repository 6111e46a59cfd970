import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { FinishedSpan } from "../../domain/tracing/trace-context.ts";
import { RPC_CODE, type RpcChannel, RpcError } from "../grpc/rpc-channel.ts";
import {
  type ExportTraceServiceRequest,
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
} from "./gen/otlp-trace_pb.js";
import { BATCH_MAX, BATCH_WAIT_MS, FLUSH_MS_MAX, QUEUE_MAX, SpanExport } from "./span-export.ts";

const span = (index: number): FinishedSpan => ({
  scope: "tests",
  name: `span-${index}`,
  kind: "internal",
  context: { traceId: "a".repeat(32), spanId: index.toString(16).padStart(16, "0"), sampled: true, traceState: "" },
  parent: undefined,
  startWallMs: 0,
  endWallMs: 1,
  attributes: {},
  events: [],
  failure: undefined,
});

type Behaviour = "takes" | "refuses" | "isAway" | "isSilent" | { readonly rejects: bigint };

/** A collector whose behavior a test chooses, and an export to it. */
function world() {
  const clock = new ManualClock();
  const log = keptLog();
  const batches: string[][] = [];
  const state = { behaviour: "takes" as Behaviour, channels: 0, open: 0 };
  const open = (): RpcChannel => {
    state.channels += 1;
    state.open += 1;
    return {
      unary: async (method, request, signal) => {
        const bytes = toBinary(method.input, create(method.input, request));
        if (state.behaviour === "isAway") throw new RpcError(RPC_CODE.unavailable, "connection refused");
        if (state.behaviour === "refuses") throw new RpcError(RPC_CODE.unimplemented, "unknown service");
        if (state.behaviour === "isSilent")
          return new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          });
        batches.push(namesIn(fromBinary(ExportTraceServiceRequestSchema, bytes)));
        const rejected = typeof state.behaviour === "object" ? state.behaviour.rejects : 0n;
        const answer = { partialSuccess: { rejectedSpans: rejected, errorMessage: "too many" } };
        const schema = ExportTraceServiceResponseSchema;
        return fromBinary(method.output, toBinary(schema, create(schema, rejected === 0n ? {} : answer)));
      },
      serverStream: () => assert.fail("nothing is streamed"),
      close: () => {
        state.open -= 1;
      },
    };
  };
  const spans = new SpanExport({ clock, log, open, resource: { "service.name": "kubelet" } });
  const add = (from: number, to: number) => {
    for (let index = from; index < to; index += 1) spans.add(span(index));
  };
  return { clock, log, batches, state, spans, add };
}

const namesIn = ({ resourceSpans }: ExportTraceServiceRequest) =>
  resourceSpans.flatMap((of) => of.scopeSpans.flatMap((scope) => scope.spans.map(({ name }) => name)));

test("spans are sent in one batch five seconds after the first", async () => {
  const { clock, batches, add } = world();
  add(0, 3);
  await clock.advance(BATCH_WAIT_MS - 1);
  assert.deepEqual(batches, []);
  add(3, 4);
  await clock.advance(1);
  assert.deepEqual(batches, [["span-0", "span-1", "span-2", "span-3"]]);
  assert.equal(clock.timersPending, 0);
});

test("a full batch is sent at once, one batch per call", async () => {
  const { clock, batches, add } = world();
  add(0, 2 * BATCH_MAX + 10);
  await clock.advance(0);
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [BATCH_MAX, BATCH_MAX, 10],
  );
  assert.equal(batches[2]?.at(-1), `span-${2 * BATCH_MAX + 9}`);
});

test("[22.3] while the collector is unreachable the oldest spans are dropped, and the log reports it", async () => {
  const { clock, log, batches, state, add } = world();
  state.behaviour = "isAway";
  add(0, QUEUE_MAX + 100);
  await clock.advance(10 * 60_000);
  assert.ok(log.lines.length >= 8 && log.lines.length <= 11, `${log.lines.length} lines in ten minutes`);
  assert.match(
    log.lines.at(-1) ?? "",
    /^0 Failed to send traces \{"lost":100,"waiting":2048,"err":"connection refused"\}$/,
  );
  state.behaviour = "takes";
  await clock.advance(30_000);
  assert.equal(batches.flat().length, QUEUE_MAX);
  assert.equal(batches[0]?.[0], "span-100");
  assert.equal(state.open, 1);
});

test("a batch rejected with Unimplemented is dropped, and later spans are sent", async () => {
  const { clock, log, batches, state, add } = world();
  state.behaviour = "refuses";
  add(0, 5);
  await clock.advance(BATCH_WAIT_MS);
  assert.match(log.lines[0] ?? "", /"lost":5,"waiting":0,"err":"unknown service"/);
  state.behaviour = "takes";
  add(5, 6);
  await clock.advance(30_000);
  assert.deepEqual(batches, [["span-5"]]);
});

test("spans rejected in a partial success are counted as lost", async () => {
  const { clock, log, state, add } = world();
  state.behaviour = { rejects: 3n };
  add(0, 5);
  await clock.advance(BATCH_WAIT_MS);
  assert.match(log.lines[0] ?? "", /"lost":3,"waiting":0,"err":"too many"/);
});

test("a call without an answer is aborted after ten seconds, and retried on a new connection", async () => {
  const { clock, batches, state, add } = world();
  state.behaviour = "isSilent";
  add(0, 1);
  await clock.advance(BATCH_WAIT_MS + 10_000);
  assert.deepEqual([state.channels, state.open], [1, 0]);
  state.behaviour = "takes";
  await clock.advance(5_000);
  assert.deepEqual([batches, state.channels, state.open], [[["span-0"]], 2, 1]);
});

test("[22.3] close() sends the queued spans at once", async () => {
  const { clock, batches, state, spans, add } = world();
  add(0, 3);
  await spans.close();
  assert.deepEqual([batches.flat().length, state.open, clock.timersPending], [3, 0, 0]);
  add(3, 4);
  await spans.close();
  assert.equal(batches.flat().length, 3);
});

test("[22.3] close() gives up after five seconds, also when a call is in progress", async () => {
  for (const underWay of [true, false]) {
    const { clock, state, spans, add } = world();
    state.behaviour = "isSilent";
    add(0, 3);
    if (underWay) await clock.advance(BATCH_WAIT_MS);
    let hasClosed = false;
    const closing = spans.close().then(() => {
      hasClosed = true;
    });
    await clock.advance(FLUSH_MS_MAX - 1);
    assert.equal(hasClosed, false);
    await clock.advance(1);
    await closing;
    assert.deepEqual([state.open, clock.timersPending], [0, 0]);
  }
});

test("close() does not wait while the collector is unreachable", async () => {
  const { clock, state, spans, add } = world();
  state.behaviour = "isAway";
  add(0, 3);
  await clock.advance(BATCH_WAIT_MS);
  await spans.close();
  assert.equal(clock.timersPending, 0);
});
