import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { pause, waitUntil } from "../../../test/cluster/wait.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { EXEC, IDLE_MS, SPDY, streamWorld, TUNNEL, upgrade } from "../../../test/support/stream-world.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { RUNTIME_REFUSAL_BYTES_MAX, STREAMS_PER_POD_MAX } from "../limits.ts";

void test("[20.8] SPDY is piped byte for byte both ways after the runtime's 101", async (t) => {
  const world = await streamWorld(t);
  const { socket, answer, rest } = await upgrade(world.server, EXEC, SPDY);
  const peer = await world.runtime.next();
  peer.speaks = false;
  assert.match(answer, /^HTTP\/1.1 101 /);
  assert.match(answer, /upgrade: SPDY\/3.1/i);
  assert.match(answer, /x-stream-protocol-version: v4.channel.k8s.io/i);
  const up = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
  socket.write(up);
  await waitUntil("what was sent up", 10_000, async () => peer.raw.length >= up.length);
  assert.ok(peer.raw.equals(up));
  peer.socket.write(up);
  await waitUntil("what was sent down", 10_000, async () => rest().length >= up.length);
  assert.ok(rest().equals(up));
  socket.end();
  await Promise.all(world.server.upgrades);
  assert.deepEqual(world.closed(), { client: 1 });
});

void test("a v4 WebSocket is piped to the runtime unchanged", async (t) => {
  const world = await streamWorld(t);
  const headers = { Upgrade: "websocket", "Sec-WebSocket-Protocol": "v4.channel.k8s.io", "Sec-WebSocket-Key": "k" };
  const { socket, answer } = await upgrade(world.server, EXEC, headers, "GET");
  assert.match(answer, /^HTTP\/1.1 101 /);
  const [asked] = world.runtime.requests;
  assert.equal(asked?.method, "GET");
  assert.equal(asked.headers["sec-websocket-protocol"], "v4.channel.k8s.io");
  assert.equal(asked.headers["sec-websocket-key"], "k");
  socket.destroy();
});

void test("without the feature gate v5 and tunnels are left to the runtime, and are not counted", async (t) => {
  const world = await streamWorld(t, { webSockets: false });
  const headers = { Upgrade: "websocket", "Sec-WebSocket-Protocol": "v5.channel.k8s.io" };
  const { socket } = await upgrade(world.server, EXEC, headers, "GET");
  assert.equal(world.runtime.requests[0]?.headers["sec-websocket-protocol"], "v5.channel.k8s.io");
  const tunnel = { Upgrade: "websocket", "Sec-WebSocket-Protocol": TUNNEL };
  const refused = await upgrade(world.server, "/portForward/default/web", tunnel, "GET");
  assert.match(refused.answer, /^HTTP\/1.1 400 /);
  const asked = world.registry.collect().find(({ name }) => name === "kubelet_websocket_streaming_requests_total");
  assert.deepEqual(asked?.samples ?? [], []);
  socket.destroy();
});

void test("the client's credentials are not sent to the runtime", async (t) => {
  const world = await streamWorld(t);
  const secrets = { Authorization: "Bearer canary", Cookie: "canary", "X-Remote-User": "canary" };
  const { socket } = await upgrade(world.server, EXEC, { ...SPDY, ...secrets });
  assert.doesNotMatch(JSON.stringify(world.runtime.requests[0]?.headers), /canary/);
  socket.destroy();
});

void test("a token among the subprotocols of a WebSocket is not sent to the runtime", async (t) => {
  const world = await streamWorld(t);
  const protocols = "base64url.bearer.authorization.k8s.io.Y2FuYXJ5, v4.channel.k8s.io, channel.k8s.io";
  for (const Upgrade of ["websocket", "SPDY/3.1"]) {
    const { socket } = await upgrade(world.server, EXEC, { Upgrade, "Sec-WebSocket-Protocol": protocols }, "GET");
    const asked = world.runtime.requests.at(-1);
    assert.equal(asked?.headers["sec-websocket-protocol"], "v4.channel.k8s.io, channel.k8s.io");
    socket.destroy();
  }
});

void test("a runtime response other than 101 is returned as an error, and the connection is closed", async (t) => {
  for (const [status, want, text] of [
    [404, 404, "page not found"],
    [503, 503, "busy"],
    [200, 500, "invalid upgrade response: status code 200\n"],
  ] as const) {
    const world = await streamWorld(t, { refuse: { status, body: text } });
    const { socket, answer, rest } = await upgrade(world.server, EXEC, SPDY);
    assert.match(answer, new RegExp(`^HTTP/1.1 ${want} `));
    // Later bytes are not piped anywhere: there is no backend connection (CVE-2018-1002105).
    socket.write("GET /exec/other HTTP/1.1\r\nHost: x\r\n\r\n");
    await waitUntil("the end", 10_000, async () => socket.destroyed || socket.readableEnded);
    assert.equal(rest().toString(), text);
    assert.equal(world.runtime.requests.length, 1);
    assert.deepEqual(world.closed(), { failed: 1 });
  }
});

void test("the runtime's error is truncated at the limit", async (t) => {
  for (const more of [0, 1]) {
    const body = "x".repeat(RUNTIME_REFUSAL_BYTES_MAX) + "y".repeat(more);
    const world = await streamWorld(t, { refuse: { status: 503, body } });
    const { socket, answer, rest } = await upgrade(world.server, EXEC, SPDY);
    await waitUntil("the end", 10_000, async () => socket.destroyed || socket.readableEnded);
    assert.match(answer, /^HTTP\/1.1 503 /);
    assert.equal(rest().toString(), "x".repeat(RUNTIME_REFUSAL_BYTES_MAX));
  }
});

void test("a redirect by the runtime is an error and is not followed (CVE-2020-8559)", async (t) => {
  let asked = 0;
  const elsewhere = createServer(() => {
    asked += 1;
  });
  elsewhere.listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  t.after(() => elsewhere.close());
  const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
  const world = await streamWorld(t, { refuse: { status: 302, body: "", location } });
  const { answer, rest } = await upgrade(world.server, EXEC, SPDY);
  assert.match(answer, /^HTTP\/1.1 500 /);
  assert.doesNotMatch(answer, /location/i);
  assert.equal(rest().toString(), "invalid upgrade response: status code 302\n");
  assert.equal(asked, 0);
});

void test("a streaming server URL that is not local HTTP is rejected", async (t) => {
  for (const url of ["http://192.0.2.1:1/x", "http://127.0.0.1.example.org/x", "https://127.0.0.1:1/x", "no url"]) {
    const world = await streamWorld(t, { url });
    const { answer, rest } = await upgrade(world.server, EXEC, SPDY);
    assert.match(answer, /^HTTP\/1.1 500 /, url);
    assert.match(rest().toString(), /^the runtime's streaming server /);
  }
});

void test("an error of the runtime keeps its message: NotFound is 404, ResourceExhausted 429, Unknown 500", async (t) => {
  for (const [code, status, name] of [
    ["notFound", 404, "NotFound"],
    ["resourceExhausted", 429, "ResourceExhausted"],
    ["unknown", 500, "Unknown"],
  ] as const) {
    const world = await streamWorld(t, { fail: new RuntimeError("Exec", code, "its words") });
    const { answer, rest } = await upgrade(world.server, EXEC, SPDY);
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `));
    assert.equal(rest().toString(), `rpc error: code = ${name} desc = its words`);
  }
});

void test("a client that does not read slows the runtime down, and loses no data", async (t) => {
  const world = await streamWorld(t);
  const { socket, rest } = await upgrade(world.server, EXEC, SPDY);
  const peer = await world.runtime.next();
  peer.speaks = false;
  socket.pause();
  const part = Buffer.alloc(65_536, 5);
  const sent = 64 * 2 ** 20;
  let written = 0;
  for (let room = true; room && written < sent; written += part.length) room = peer.socket.write(part);
  await pause(300);
  // Kernel buffers accept some more; anything beyond that would be buffered in our process.
  for (let room = true; room && written < sent; written += part.length) room = peer.socket.write(part);
  assert.ok(written < sent, "the runtime could write on and on");
  peer.socket.end();
  socket.resume();
  await Promise.all(world.server.upgrades);
  assert.equal(rest().length, written);
  assert.deepEqual(world.closed(), { runtime: 1 });
});

void test(`a pod has at most ${STREAMS_PER_POD_MAX} streams, and a closed one makes space for another`, async (t) => {
  const world = await streamWorld(t);
  const open = await Promise.all(Array.from({ length: STREAMS_PER_POD_MAX }, () => upgrade(world.server, EXEC, SPDY)));
  const refused = await upgrade(world.server, EXEC, SPDY);
  assert.match(refused.answer, /^HTTP\/1.1 429 /);
  open[0]?.socket.destroy();
  await waitUntil("room", 10_000, async () => world.closed()["client"] === 1);
  assert.match((await upgrade(world.server, EXEC, SPDY)).answer, /^HTTP\/1.1 101 /);
});

void test("an idle pipe is cut at the limit, and no timer or socket is left", async (t) => {
  const clock = new ManualClock();
  const world = await streamWorld(t, { clock });
  const { socket } = await upgrade(world.server, EXEC, SPDY);
  const peer = await world.runtime.next();
  await clock.advance(IDLE_MS);
  await Promise.all(world.server.upgrades);
  assert.deepEqual(world.closed(), { idle: 1 });
  await waitUntil("both ends", 10_000, async () => peer.closed && socket.destroyed);
  assert.equal(clock.timersPending, 0);
});
