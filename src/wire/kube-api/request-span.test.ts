import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeTracer } from "../../../sim/fake-tracer.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { inSpan } from "../../concurrency/in-span.ts";
import { inRequestSpan } from "./request-span.ts";

const asked = { origin: "https://198.18.0.1:6443", method: "GET", path: "/api/v1/nodes/n1?timeout=10s" };
const ASKED = {
  "http.request.method": "GET",
  "url.full": "https://198.18.0.1:6443/api/v1/nodes/n1?timeout=10s",
  "server.address": "198.18.0.1",
  "server.port": 6443,
  "network.protocol.version": "2",
};

async function spanOf(attempt: Parameters<typeof inRequestSpan<void>>[2], origin = asked.origin) {
  const tracer = new FakeTracer(new ManualClock());
  const tried = inSpan(tracer, { scope: "tests", name: "around" }, () =>
    inRequestSpan(tracer, { ...asked, origin }, attempt),
  );
  const outcome = await tried.then(
    () => undefined,
    (error: unknown) => error,
  );
  const span = tracer.finished.find(({ kind }) => kind === "client");
  assert.ok(span !== undefined);
  return { span, outcome };
}

test("[22.3] a request to the API server is a client span in a new trace, and sends its traceparent", async () => {
  let reported: string | undefined;
  const { span } = await spanOf(async (headers, answered) => {
    reported = headers["traceparent"];
    answered(200);
  });
  assert.deepEqual([span.name, span.parent, span.failure], ["HTTP GET", undefined, undefined]);
  assert.deepEqual(span.attributes, { ...ASKED, "http.response.status_code": 200 });
  assert.equal(reported, `00-${span.context.traceId}-${span.context.spanId}-01`);
});

test("a response of 400 or more fails the span without text, and a failed request with the error's text", async () => {
  const refused = new Error("not found");
  const no = await spanOf(async (_headers, answered) => {
    answered(404);
    throw refused;
  });
  assert.equal(no.outcome, refused);
  assert.deepEqual([no.span.failure, no.span.events], ["", []]);
  assert.deepEqual(no.span.attributes, { ...ASKED, "http.response.status_code": 404, "error.type": "404" });
  const lost = await spanOf(() => Promise.reject(new TypeError("the connection broke")));
  assert.deepEqual([lost.span.failure, lost.span.events], ["the connection broke", []]);
  assert.deepEqual(lost.span.attributes, { ...ASKED, "error.type": "TypeError" });
});

test("the span has the server's IPv6 address without brackets, and the default port 443", async () => {
  const { span } = await spanOf(async () => undefined, "https://[fd00::1]");
  assert.deepEqual([span.attributes["server.address"], span.attributes["server.port"]], ["fd00::1", 443]);
});
