import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import type { FinishedSpan } from "../../domain/tracing/trace-context.ts";
import { exportRequest } from "./encode.ts";
import { ExportTraceServiceRequestSchema } from "./gen/otlp-trace_pb.js";

const span: FinishedSpan = {
  scope: "a",
  name: "one",
  kind: "server",
  context: {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    sampled: true,
    traceState: "v=1",
  },
  parent: {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "00f067aa0ba902b7",
    sampled: true,
    traceState: "v=1",
    isRemote: true,
  },
  startWallMs: 1_700_000_000_123.25,
  endWallMs: 1_700_000_000_124,
  attributes: { text: "x", whole: 200, part: 0.5, yes: true },
  events: [{ name: "exception", wallMs: 1_700_000_000_123.5, attributes: { "exception.message": "no" } }],
  failure: "no",
};

test("[22.3] spans are grouped by scope below their resource, with times in nanoseconds", () => {
  const plain: FinishedSpan = { ...span, scope: "b", name: "two", kind: "client", parent: undefined, events: [] };
  const spans = [span, { ...plain, failure: undefined }, { ...span, name: "three" }];
  const request = create(ExportTraceServiceRequestSchema, exportRequest(spans, { "service.name": "kubelet" }));
  const { resourceSpans } = fromBinary(
    ExportTraceServiceRequestSchema,
    toBinary(ExportTraceServiceRequestSchema, request),
  );
  const [of] = resourceSpans;
  assert.ok(of !== undefined && resourceSpans.length === 1);
  assert.deepEqual(
    of.scopeSpans.map(({ scope, spans: inScope }) => [scope?.name, inScope.map(({ name }) => name)]),
    [
      ["a", ["one", "three"]],
      ["b", ["two"]],
    ],
  );
  const [one, two] = [of.scopeSpans[0]?.spans[0], of.scopeSpans[1]?.spans[0]];
  assert.ok(one !== undefined && two !== undefined);
  assert.deepEqual(
    [Buffer.from(one.traceId).toString("hex"), Buffer.from(one.spanId).toString("hex"), one.traceState],
    ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "v=1"],
  );
  assert.deepEqual(
    [one.startTimeUnixNano, one.endTimeUnixNano, one.events[0]?.timeUnixNano],
    [1_700_000_000_123_250_000n, 1_700_000_000_124_000_000n, 1_700_000_000_123_500_000n],
  );
  assert.deepEqual([one.flags, two.flags, two.parentSpanId.length], [0x301, 0x101, 0]);
  assert.deepEqual(toJson(ExportTraceServiceRequestSchema, request), {
    resourceSpans: [
      {
        resource: { attributes: [{ key: "service.name", value: { stringValue: "kubelet" } }] },
        scopeSpans: [
          { scope: { name: "a" }, spans: [json("one"), json("three")] },
          { scope: { name: "b" }, spans: [json("two")] },
        ],
      },
    ],
  });
});

/** The JSON form of the messages: bytes in base64, 64-bit integers as text. */
function json(name: string): object {
  const common = {
    traceId: "CvdlGRbNQ92ESOshHIAxnA==",
    spanId: "t61rcWkgMzE=",
    traceState: "v=1",
    name,
    startTimeUnixNano: "1700000000123250000",
    endTimeUnixNano: "1700000000124000000",
    attributes: [
      { key: "text", value: { stringValue: "x" } },
      { key: "whole", value: { intValue: "200" } },
      { key: "part", value: { doubleValue: 0.5 } },
      { key: "yes", value: { boolValue: true } },
    ],
  };
  if (name === "two") return { ...common, kind: "SPAN_KIND_CLIENT", status: {}, flags: 0x101 };
  const event = {
    timeUnixNano: "1700000000123500000",
    name: "exception",
    attributes: [{ key: "exception.message", value: { stringValue: "no" } }],
  };
  const status = { message: "no", code: "STATUS_CODE_ERROR" };
  return { ...common, parentSpanId: "APBnqgupArc=", kind: "SPAN_KIND_SERVER", events: [event], status, flags: 0x301 };
}
