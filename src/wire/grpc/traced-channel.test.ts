import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FakeTracer } from "../../../sim/fake-tracer.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { DeadlineError } from "../../concurrency/deadline.ts";
import { inSpan } from "../../concurrency/in-span.ts";
import { RuntimeService } from "../cri/gen/api_pb.js";
import { type CallNotes, type RpcChannel, RpcError } from "./rpc-channel.ts";
import { tracedChannel } from "./traced-channel.ts";

const { version, getContainerEvents } = RuntimeService.method;
const never = new AbortController().signal;

/** A server that answers, or fails with `trouble`, and the headers it received. */
function world(trouble?: unknown) {
  const tracer = new FakeTracer(new ManualClock());
  const heard: (CallNotes["headers"] | undefined)[] = [];
  const channel: RpcChannel = {
    unary: async (method, _request, _signal, notes) => {
      heard.push(notes?.headers);
      notes?.onSent(7);
      if (trouble !== undefined) throw trouble;
      notes?.onReceived(9);
      return create(method.output);
    },
    serverStream: (method, _request, _signal, notes) => {
      heard.push(notes?.headers);
      return (async function* () {
        yield create(method.output);
        yield create(method.output);
        if (trouble !== undefined) throw trouble;
      })();
    },
    close: () => {},
  };
  return { tracer, heard, channel: tracedChannel(channel, tracer, "/run/c.sock") };
}

const VERSION = {
  "rpc.method": "runtime.v1.RuntimeService/Version",
  "rpc.system.name": "grpc",
  "server.address": "/run/c.sock",
};

test("[22.3] a call is a client span below the caller's span, and sends its traceparent", async () => {
  const { tracer, heard, channel } = world();
  const counted: number[] = [];
  const count = (bytes: number) => void counted.push(bytes);
  await inSpan(tracer, { scope: "tests", name: "outer" }, () =>
    channel.unary(version, {}, never, { headers: { other: "header" }, onSent: count, onReceived: count }),
  );
  assert.deepEqual(counted, [7, 9]);
  const [call, outer] = tracer.finished;
  assert.ok(call !== undefined && outer !== undefined);
  assert.deepEqual(
    [call.name, call.kind, call.failure, call.parent?.spanId],
    ["runtime.v1.RuntimeService/Version", "client", undefined, outer.context.spanId],
  );
  assert.deepEqual(call.attributes, { ...VERSION, "rpc.response.status_code": "OK" });
  assert.deepEqual(
    call.events.map(({ name, attributes }) => [name, ...Object.values(attributes)]),
    [
      ["message", "SENT", 1, 7, 7],
      ["message", "RECEIVED", 1, 9, 9],
    ],
  );
  assert.deepEqual(heard, [{ other: "header", traceparent: `00-${call.context.traceId}-${call.context.spanId}-01` }]);
});

for (const [trouble, status] of [
  [new RpcError(5, "no such thing"), "NotFound"],
  [new RpcError(99, "odd"), "Code(99)"],
  [new DeadlineError(10), "DeadlineExceeded"],
  [new Error("given up"), "Canceled"],
] as const) {
  test(`a call that fails with "${trouble.message}" records ${status} and rejects with the same error`, async () => {
    const { tracer, channel } = world(trouble);
    await assert.rejects(channel.unary(version, {}, never), trouble);
    const [span] = tracer.finished;
    assert.deepEqual([span?.failure, span?.events.map(({ name }) => name)], [trouble.message, ["message"]]);
    assert.deepEqual(span?.attributes, { ...VERSION, "rpc.response.status_code": status });
  });
}

test("a stream's span ends with its last message, its failure, or when the reader stops", async () => {
  const read = async ({ channel, tracer }: ReturnType<typeof world>, most: number) => {
    const stream = channel.serverStream(getContainerEvents, {}, never);
    let count = 0;
    for await (const _ of stream) {
      count += 1;
      assert.equal(tracer.finished.length, 0);
      if (count === most) break;
    }
  };
  const whole = world();
  await read(whole, Number.POSITIVE_INFINITY);
  const left = world();
  await read(left, 1);
  const broken = world(new RpcError(14, "gone"));
  await assert.rejects(read(broken, Number.POSITIVE_INFINITY), new RpcError(14, "gone"));
  assert.deepEqual(
    [whole, left, broken].map(({ tracer, heard }) => [
      tracer.finished.map(({ attributes, failure }) => [attributes["rpc.response.status_code"], failure]),
      heard[0]?.["traceparent"] !== undefined,
    ]),
    [
      [[["OK", undefined]], true],
      [[["Canceled", undefined]], true],
      [[["Unavailable", "gone"]], true],
    ],
  );
});
