import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { pause, waitUntil } from "../../../test/cluster/wait.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { ChannelClient, EXEC, IDLE_MS, streamWorld, upgrade } from "../../../test/support/stream-world.ts";
import { webSocket } from "../../../test/support/websocket-client.ts";
import { STREAM_STATUS_BYTES_MAX } from "../limits.ts";

const SUCCESS = JSON.stringify({ metadata: {}, status: "Success" });
const exitStatus = (code: number) =>
  JSON.stringify({
    status: "Failure",
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(code) }] },
  });

void test("[20.9] the channels of a v5 WebSocket are bridged to the streams of SPDY v4", async (t) => {
  const world = await streamWorld(t);
  const client = await new ChannelClient(world.server, EXEC).opened();
  const peer = await world.runtime.next();
  assert.deepEqual(world.calls, ["exec app-of-uid-1 sh 1110"]);
  const [asked] = world.runtime.requests;
  assert.equal(asked?.method, "POST");
  assert.equal(asked.headers.upgrade, "SPDY/3.1");
  assert.equal(asked.headers["x-stream-protocol-version"], "v4.channel.k8s.io");
  const [stdin, stdout, stderr, error] = await Promise.all(
    ["stdin", "stdout", "stderr", "error"].map((n) => peer.stream(n)),
  );
  assert.ok(stdin && stdout && stderr && error);
  assert.equal(peer.streams.size, 4, "there is no terminal, so nothing to resize");
  // An empty message on the first output channel has signalled that the connection is open.
  await waitUntil("the first message", 10_000, async () => client.messages === 1);
  assert.equal(client.heard(1).length, 0);
  client.send(0, "input");
  client.send(0, "");
  client.send(9, "on a channel that is not there");
  client.socket.send(Buffer.from([255, 0]));
  await waitUntil("the end of input", 10_000, async () => stdin.finished);
  assert.equal(stdin.received.toString(), "input");
  peer.send(stdout, "output");
  peer.send(stderr, "trouble");
  peer.send(error, exitStatus(7));
  for (const stream of [stdout, stderr, error]) peer.reset(stream);
  assert.equal(await client.closed(), 1000);
  assert.deepEqual([client.heard(1).toString(), client.heard(2).toString()], ["output", "trouble"]);
  const { causes } = client.status()["details"] as { readonly causes: readonly object[] };
  assert.deepEqual(causes, [{ reason: "ExitCode", message: "7" }]);
  await Promise.all(world.server.upgrades);
  assert.deepEqual(world.closed(), { runtime: 1 });
  await waitUntil("the runtime's connection to end", 10_000, async () => peer.closed);
  const counted = world.registry.collect().find(({ name }) => name === "kubelet_websocket_streaming_requests_total");
  assert.deepEqual(counted?.samples, [{ labels: [["subresource", "exec"]], value: 1 }]);
});

void test("input is held back until the runtime has replied to all streams", async (t) => {
  const world = await streamWorld(t, { slow: true });
  const client = new ChannelClient(world.server, EXEC);
  const peer = await world.runtime.next();
  await client.opened();
  client.send(0, "early");
  const streams = await Promise.all(["stdin", "stdout", "stderr", "error"].map((name) => peer.stream(name)));
  for (const stream of streams.slice(0, 3)) peer.reply(stream);
  await pause(100);
  assert.equal(streams[0]?.received.length, 0);
  for (const stream of streams.slice(3)) peer.reply(stream);
  await waitUntil("what was said", 10_000, async () => streams[0]?.received.toString() === "early");
  client.socket.close();
});

void test("terminal sizes go to the resize stream, and nothing after an invalid one", async (t) => {
  const world = await streamWorld(t);
  const client = await new ChannelClient(world.server, `${EXEC}&tty=1`).opened();
  const peer = await world.runtime.next();
  const resize = await peer.stream("resize");
  assert.equal(peer.streams.has("stderr"), false, "a terminal has one output");
  client.send(4, '{"Width":80,"Height":24}\n{"Wid');
  client.send(4, 'th":132,"Height":50}\n');
  client.send(4, '{"Width":"wide"}{"Width":1,"Height":1}');
  client.send(0, "then");
  await waitUntil("the input after it", 10_000, async () => (await peer.stream("stdin")).received.length === 4);
  assert.equal(resize.received.toString(), '{"Width":80,"Height":24}\n{"Width":132,"Height":50}\n');
  client.socket.close();
});

void test("1 MB of output arrives whole, followed by the status", async (t) => {
  const world = await streamWorld(t);
  const client = await new ChannelClient(world.server, EXEC).opened();
  const peer = await world.runtime.next();
  const [stdout, stderr, error] = await Promise.all(["stdout", "stderr", "error"].map((name) => peer.stream(name)));
  assert.ok(stdout && stderr && error);
  const output = Buffer.alloc(1_048_576, "0123456789abcdef\n");
  for (let at = 0; at < output.length; at += 32_768) peer.send(stdout, output.subarray(at, at + 32_768));
  peer.send(error, SUCCESS);
  for (const stream of [stdout, stderr, error]) peer.reset(stream);
  peer.socket.end();
  // The client keeps sending to a command that no longer reads: a reset would lose the end of the output.
  for (let count = 0; count < 50; count += 1) client.send(0, Buffer.alloc(10_000));
  await client.closed();
  assert.ok(client.heard(1).equals(output));
  assert.equal(client.status()["status"], "Success");
});

void test("a connection that the runtime cuts is a Failure to the client, never exit code 0", async (t) => {
  const world = await streamWorld(t);
  const client = await new ChannelClient(world.server, EXEC).opened();
  const peer = await world.runtime.next();
  peer.send(await peer.stream("stdout"), "half of it");
  await waitUntil("the output", 10_000, async () => client.heard(1).length > 0);
  peer.socket.destroy();
  await client.closed();
  assert.equal(client.status()["status"], "Failure");
  assert.match(String(client.status()["message"]), /^Internal error occurred: .*connection to the runtime was lost/);
  await Promise.all(world.server.upgrades);
  assert.deepEqual(world.closed(), { failed: 1 });
});

void test("a runtime that rejects the upgrade is reported on the error channel of the open WebSocket", async (t) => {
  const world = await streamWorld(t, { refuse: { status: 404, body: "page not found" } });
  const client = new ChannelClient(world.server, EXEC);
  await client.closed();
  assert.equal(client.status()["message"], "Internal error occurred: unable to upgrade connection: page not found");
});

void test("a runtime response that is not SPDY ends the stream with a Failure", async (t) => {
  const world = await streamWorld(t);
  const client = await new ChannelClient(world.server, EXEC).opened();
  const peer = await world.runtime.next();
  await peer.stream("error");
  peer.socket.write(Buffer.from([0x80, 9, 9, 9, 0, 0, 0, 0]));
  await client.closed();
  assert.equal(client.status()["status"], "Failure");
});

void test("a status of exactly the limit is read, a longer one ends the stream with a Failure", async (t) => {
  for (const [sizeBytes, status] of [
    [STREAM_STATUS_BYTES_MAX, "Success"],
    [STREAM_STATUS_BYTES_MAX + 1, "Failure"],
  ] as const) {
    const world = await streamWorld(t);
    const client = await new ChannelClient(world.server, EXEC).opened();
    const peer = await world.runtime.next();
    const [stdout, stderr, error] = await Promise.all(["stdout", "stderr", "error"].map((name) => peer.stream(name)));
    assert.ok(stdout && stderr && error);
    const text = (message: string) => JSON.stringify({ status: "Success", message });
    peer.send(error, text("x".repeat(sizeBytes - text("").length)));
    // When the status is too long, the runtime does not end the streams.
    if (status === "Success") for (const stream of [stdout, stderr, error]) peer.reset(stream);
    await client.closed();
    assert.equal(client.status()["status"], status);
    await Promise.all(world.server.upgrades);
    assert.deepEqual(world.closed(), status === "Success" ? { runtime: 1 } : { failed: 1 });
  }
});

void test("a client that disconnects ends the runtime's connection, and the stream counts as ended by the client", async (t) => {
  const world = await streamWorld(t);
  const client = await new ChannelClient(world.server, EXEC).opened();
  const peer = await world.runtime.next();
  await peer.stream("error");
  client.socket.close();
  await Promise.all(world.server.upgrades);
  await waitUntil("the runtime's connection to end", 10_000, async () => peer.closed);
  assert.deepEqual(world.closed(), { client: 1 });
});

void test("an invalid channel close ends the connection with code 1002", async (t) => {
  for (const bytes of [[255], [255, 5], [255, 0, 0]]) {
    const world = await streamWorld(t);
    const client = await new ChannelClient(world.server, EXEC).opened();
    await (await world.runtime.next()).stream("error");
    client.socket.send(Buffer.from(bytes));
    assert.equal(await client.closed(), 1002);
  }
});

void test("a stream without data is cut at the idle limit and counted as idle, one with data is not", async (t) => {
  const clock = new ManualClock();
  const world = await streamWorld(t, { clock });
  const client = await new ChannelClient(world.server, EXEC).opened();
  const peer = await world.runtime.next();
  const stdout = await peer.stream("stdout");
  await clock.advance(IDLE_MS - 60_000);
  peer.send(stdout, "still here");
  await waitUntil("the output", 10_000, async () => client.heard(1).length > 0);
  await clock.advance(IDLE_MS - 60_000);
  assert.deepEqual(world.closed(), {});
  await clock.advance(60_001);
  await Promise.all(world.server.upgrades);
  assert.deepEqual(world.closed(), { idle: 1 });
  assert.equal(clock.timersPending, 0, "no timer is left");
});

void test("a stream that shutdown cuts is counted as shutdown", async (t) => {
  const world = await streamWorld(t);
  await new ChannelClient(world.server, EXEC).opened();
  const peer = await world.runtime.next();
  await peer.stream("error");
  world.server.shutdown.abort();
  await Promise.all(world.server.upgrades);
  assert.deepEqual(world.closed(), { shutdown: 1 });
  await waitUntil("the runtime's connection to end", 10_000, async () => peer.closed);
});

void test("an invalid WebSocket handshake is rejected with 400", async (t) => {
  const world = await streamWorld(t);
  const good = webSocket("v5.channel.k8s.io");
  for (const [bad, method] of [
    [{ "Sec-WebSocket-Version": "8" }, "GET"],
    [{ "Sec-WebSocket-Key": "short" }, "GET"],
    [{}, "POST"],
  ] as const) {
    const { answer } = await upgrade(world.server, EXEC, { ...good, ...bad }, method);
    assert.match(answer, /^HTTP\/1.1 400 /);
  }
  const { answer, socket } = await upgrade(world.server, EXEC, good, "GET");
  assert.match(answer, /^HTTP\/1.1 101 /);
  // The accept value for the example key in RFC 6455.
  assert.match(answer, /Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
  assert.match(answer, /Sec-WebSocket-Protocol: v5.channel.k8s.io/);
  socket.destroy();
});

void test("arbitrary client messages end no more than their own stream", async (t) => {
  const message = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc
      .tuple(fc.constantFrom(0, 1, 2, 3, 4, 5, 255), fc.uint8Array({ maxLength: 40 }))
      .map(([c, b]) => Uint8Array.of(c, ...b)),
    fc
      .constantFrom('{"Width":1}', '{"__proto__":1}', "}{", '{"Width":1e9,"Height":1}')
      .map((x) => Buffer.from(`\u0004${x}`)),
  );
  for (const messages of fc.sample(fc.array(message, { minLength: 1, maxLength: 30 }), { seed: 6, numRuns: 40 })) {
    const world = await streamWorld(t);
    const client = await new ChannelClient(world.server, `${EXEC}&tty=1`).opened();
    const peer = await world.runtime.next();
    await peer.stream("resize");
    for (const one of messages) client.socket.send(one);
    client.socket.close();
    await Promise.all(world.server.upgrades);
    assert.deepEqual(world.closed(), { client: 1 });
    assert.match(peer.streams.get("resize")?.received.toString() ?? "", /^(\{"Width":\d+,"Height":\d+\}\n)*$/);
  }
});
