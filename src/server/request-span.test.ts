import assert from "node:assert/strict";
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { FakeTracer } from "../../sim/fake-tracer.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { inRequestSpan } from "./request-span.ts";
import { HttpError } from "./route.ts";

const path = "/containerLogs/{namespace}/{pod}/{container}";

/** Sends a request to a server that answers with `answer`, and returns the resulting span. */
async function spanOf(
  t: TestContext,
  answer: (send: (status: number) => void) => Promise<void>,
  { isKnown = true, headers = {} }: { readonly isKnown?: boolean; readonly headers?: Record<string, string> } = {},
) {
  const tracer = new FakeTracer(new ManualClock());
  const server = createServer((request, response) => {
    const send = (status: number) => {
      response.writeHead(status);
      response.end();
    };
    const asked = { route: { path }, request, response, isKnown };
    // A response that `answer` does not send is sent after the span has ended.
    const rest = () => (response.headersSent ? undefined : send(500));
    inRequestSpan(tracer, asked, () => answer(send)).then(rest, rest);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve, reject) => {
    const url = `http://127.0.0.1:${port}/containerLogs/a/b/c?token=secret`;
    ask(url, { headers: { "user-agent": "test", ...headers }, agent: false }, (answered) => {
      answered.resume().once("end", resolve);
    })
      .once("error", reject)
      .end();
  });
  const [span] = tracer.finished;
  assert.ok(span !== undefined && tracer.finished.length === 1);
  return { span, port };
}

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const traced = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };

test("[22.3] a request is a server span named after upstream's route", async (t) => {
  const { span, port } = await spanOf(t, async (send) => send(200));
  const route = "/containerLogs/{podNamespace}/{podID}/{containerName}";
  assert.deepEqual([span.name, span.kind, span.failure, span.parent], [route, "server", undefined, undefined]);
  const { "network.peer.port": peerPort, ...attributes } = span.attributes;
  assert.equal(typeof peerPort, "number");
  assert.deepEqual(attributes, {
    "server.address": "kubelet",
    "http.request.method": "GET",
    "url.scheme": "http",
    "server.port": port,
    "network.peer.address": "127.0.0.1",
    "user_agent.original": "test",
    "client.address": "127.0.0.1",
    "url.path": "/containerLogs/a/b/c",
    "network.protocol.version": "1.1",
    "http.route": route,
    "http.response.status_code": 200,
  });
});

test("[22.3] a request continues the client's trace only if the client is authenticated", async (t) => {
  const known = await spanOf(t, async (send) => send(200), { headers: traced });
  assert.deepEqual([known.span.context.traceId, known.span.parent?.isRemote], [TRACE, true]);
  const unknownCaller = await spanOf(t, async (send) => send(200), { isKnown: false, headers: traced });
  assert.equal(unknownCaller.span.parent, undefined);
});

for (const [what, answer, status, failure] of [
  ["that a route rejects", () => Promise.reject(new HttpError(404, "no such pod")), 404, undefined],
  ["that is rejected as busy", () => Promise.reject(new HttpError(503, "busy")), 503, ""],
  ["that fails unexpectedly", () => Promise.reject(new Error("a bug")), 500, ""],
  ["that a route answers with 502", async (send: (status: number) => void) => send(502), 502, ""],
  ["that is upgraded", async (_send: (status: number) => void) => undefined, 101, undefined],
] as const) {
  test(`the span of a request ${what} has status ${status}`, async (t) => {
    const { span } = await spanOf(t, answer);
    assert.deepEqual([span.attributes["http.response.status_code"], span.failure], [status, failure]);
  });
}

test("client.address is the first address in X-Forwarded-For", async (t) => {
  const { span } = await spanOf(t, async (send) => send(200), {
    headers: { "x-forwarded-for": "198.18.0.9, 10.0.0.1" },
  });
  assert.equal(span.attributes["client.address"], "198.18.0.9");
});
