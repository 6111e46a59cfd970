import assert from "node:assert/strict";
import { test } from "node:test";
import { waitUntil } from "../../../test/cluster/wait.ts";
import { askRoute } from "../../../test/support/ask-route.ts";
import { SPDY, type StreamWorldOptions, streamWorld, TUNNEL, upgrade } from "../../../test/support/stream-world.ts";
import { masked, webSocket } from "../../../test/support/websocket-client.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";

const BINARY = 0x82;
const ALL = "input=1&output=1&error=1";
const mirror = { metadata: { name: "static", namespace: "default", uid: "mirror-1" } };
const STATIC: StreamWorldOptions = {
  pods: [{}, { uid: "static-1", name: "static", source: "file" }],
  mirrors: new Map([["static_default", mirror]]),
};

/** The Go kubelet's status and text for each path. */
const refusals: readonly (readonly [path: string, status: number, text: string])[] = [
  ["/exec/default/web/app?command=sh", 400, "you must specify at least 1 of stdin, stdout, stderr"],
  ["/exec/default/web/app?command=sh&tty=1&error=1", 400, "you must specify at least 1 of stdin, stdout, stderr"],
  ["/exec/default/web/app?command=sh&input=true", 400, "you must specify at least 1 of stdin, stdout, stderr"],
  [`/exec/default/none/app?${ALL}`, 404, "pod does not exist"],
  [`/exec/other/web/app?${ALL}`, 404, "pod does not exist"],
  [`/exec/default/web/none?${ALL}`, 500, 'container not found ("none")'],
  [`/exec/default/web/another-uid/app?${ALL}`, 500, "Upgrade request required\n"],
  [`/attach/default/web/another-uid/app?${ALL}`, 500, "pod web_default not found"],
  [`/attach/default/none/app?${ALL}`, 404, "pod does not exist"],
  [`/attach/default/web/none?${ALL}`, 500, "container none not found in pod web_default"],
  ["/attach/default/web/app", 400, "you must specify at least 1 of stdin, stdout, stderr"],
  ["/portForward/default/none", 404, "pod does not exist"],
  ["/portForward/default/web/another-uid", 404, "pod not found"],
  [`/exec/default/web/app?${ALL}`, 500, "Upgrade request required\n"],
  [`/attach/default/web/app?${ALL}`, 500, "Upgrade request required\n"],
  ["/portForward/default/web", 500, "Upgrade request required\n"],
];
for (const [path, status, text] of refusals) {
  void test(`[20.7] ${path} without an upgrade is rejected with ${status} "${text.trim()}", without a call to the runtime`, async (t) => {
    const world = await streamWorld(t);
    for (const method of ["GET", "POST"]) {
      const { body, status: found } = await askRoute(world.server, method, path);
      assert.deepEqual([found, body], [status, text]);
    }
    assert.deepEqual(world.calls, []);
  });
}

void test("[20.7] exec and portForward find the running container, by UID too, and a static pod by its mirror pod's UID", async (t) => {
  const world = await streamWorld(t, STATIC);
  for (const path of [
    "/exec/default/web/app?command=a&command=b%20c&output=1",
    "/exec/default/web/uid-1/app?command=a&output=1",
    "/exec/default/static/mirror-1/app?command=a&output=1",
    "/exec/default/static/static-1/app?command=a&input=1&error=1",
    "/portForward/default/static/mirror-1",
    "/portForward/default/web",
  ]) {
    const { socket, answer } = await upgrade(world.server, path, SPDY);
    assert.match(answer, /^HTTP\/1.1 101 /, path);
    socket.destroy();
  }
  assert.deepEqual(world.calls, [
    "exec app-of-uid-1 a b c 0100",
    "exec app-of-uid-1 a 0100",
    "exec app-of-static-1 a 0100",
    "exec app-of-static-1 a 1010",
    "portForward sandbox-of-static-1 ",
    "portForward sandbox-of-uid-1 ",
  ]);
});

void test("[20.7] of two pods with one name the newer is found, and the older by its UID", async (t) => {
  const world = await streamWorld(t, { pods: [{ uid: "old" }, { uid: "new" }] });
  for (const path of ["/exec/default/web/app?output=1", "/exec/default/web/old/app?output=1"]) {
    (await upgrade(world.server, path, SPDY)).socket.destroy();
  }
  assert.deepEqual(world.calls, ["exec app-of-new  0100", "exec app-of-old  0100"]);
});

void test("[20.7] nothing is found for a pod whose containers have exited", async (t) => {
  const world = await streamWorld(t, { pods: [{ state: "exited" }] });
  assert.equal(
    (await askRoute(world.server, "POST", `/exec/default/web/app?${ALL}`)).body,
    'container not found ("app")',
  );
  const { status, body } = await askRoute(world.server, "POST", "/portForward/default/web");
  assert.deepEqual([status, body], [500, 'pod not found ("web_default")']);
});

void test("[20.7] attach uses the container's own tty setting, not the query's", async (t) => {
  const world = await streamWorld(t, { pods: [{ tty: true }] });
  (await upgrade(world.server, "/attach/default/web/app?input=1&output=1", SPDY)).socket.destroy();
  const plain = await streamWorld(t, {});
  (await upgrade(plain.server, "/attach/default/web/app?input=1&output=1&tty=1", SPDY)).socket.destroy();
  assert.deepEqual([...world.calls, ...plain.calls], ["attach app-of-uid-1 1101", "attach app-of-uid-1 1100"]);
});

void test("portForward on a WebSocket takes the ports from the query, and rejects invalid ones with 400", async (t) => {
  const world = await streamWorld(t);
  const headers = { Upgrade: "websocket", "Sec-WebSocket-Protocol": "v4.channel.k8s.io" };
  const at = (query: string) => upgrade(world.server, `/portForward/default/web${query}`, headers, "GET");
  (await at("?port=80,8080&port=443")).socket.destroy();
  assert.deepEqual(world.calls, ["portForward sandbox-of-uid-1 80,8080,443"]);
  for (const [query, text] of [
    ["", 'query parameter "port" is required'],
    ["?port=", 'query parameter "port" cannot be empty'],
    ["?port=0", 'port "0" must be > 0'],
    ["?port=x", 'unable to parse "x" as a port: strconv.ParseUint: parsing "x": invalid syntax'],
    ["?port=80,65536", 'unable to parse "80,65536" as a port: strconv.ParseUint: parsing "65536": value out of range'],
  ] as const) {
    const { answer, rest } = await at(query);
    assert.match(answer, /^HTTP\/1.1 400 /);
    assert.equal(rest().toString(), text);
  }
});

void test("[20.9] a tunneled port-forward carries bytes in binary messages both ways, and closes with code 1000", async (t) => {
  const world = await streamWorld(t);
  const { socket, answer, rest } = await upgrade(world.server, "/portForward/default/web", webSocket(TUNNEL), "GET");
  assert.match(answer, /Sec-WebSocket-Protocol: SPDY\/3.1\+portforward.k8s.io/);
  const peer = await world.runtime.next();
  peer.speaks = false;
  assert.equal(world.runtime.requests[0]?.headers["x-stream-protocol-version"], "portforward.k8s.io");
  assert.equal(world.runtime.requests[0]?.method, "POST");
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 253));
  for (let at = 0; at < bytes.length; at += 50_000) socket.write(masked(BINARY, bytes.subarray(at, at + 50_000)));
  // One message in two fragments, with a ping between them.
  socket.write(
    Buffer.concat([
      masked(0x02, Buffer.from("in ")),
      masked(0x89, Buffer.from("?")),
      masked(0x80, Buffer.from("parts")),
    ]),
  );
  await waitUntil("what was sent up", 10_000, async () => peer.raw.length === bytes.length + 8);
  assert.ok(peer.raw.equals(Buffer.concat([bytes, Buffer.from("in parts")])));
  peer.socket.end(Buffer.from("down"));
  await waitUntil("the end", 10_000, async () => socket.destroyed || socket.readableEnded);
  // The pong, the message, and a close frame with code 1000.
  assert.equal(rest().toString("hex"), `8a013f8204${Buffer.from("down").toString("hex")}880203e8`);
  socket.end();
  await Promise.all(world.server.upgrades);
  assert.deepEqual(world.closed(), { runtime: 1 });
});

void test("a client that ends a tunnel ends the runtime's connection", async (t) => {
  for (const leave of [masked(0x88, Buffer.alloc(0)), masked(0x81, Buffer.from("text")), Buffer.from("garbage!!")]) {
    const world = await streamWorld(t);
    const { socket } = await upgrade(world.server, "/portForward/default/web", webSocket(TUNNEL), "GET");
    const peer = await world.runtime.next();
    socket.write(leave);
    await waitUntil("the end", 10_000, async () => socket.destroyed || socket.readableEnded);
    socket.end();
    await Promise.all(world.server.upgrades);
    await waitUntil("the runtime's connection to end", 10_000, async () => peer.closed);
    assert.deepEqual(world.closed(), { client: 1 });
  }
});

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));

void test("[20.10] run returns the output and then the errors of a command, split at its spaces", async (t) => {
  const commands: (readonly string[])[] = [];
  const world = await streamWorld(t, {
    execSync: async (_, command, seconds) => {
      commands.push([...command, String(seconds)]);
      return { stdout: bytesOf("out\n"), stderr: bytesOf("err\n"), exitCode: 0 };
    },
  });
  const answer = await askRoute(world.server, "POST", "/run/default/web/app?cmd=ls%20-l%20%20x");
  assert.deepEqual(answer, { status: 200, type: "application/json", body: "out\nerr\n" });
  await askRoute(world.server, "POST", "/run/default/web/uid-1/app");
  assert.deepEqual(commands, [
    ["ls", "-l", "", "x", "0"],
    ["", "0"],
  ]);
});

void test("[20.10] run of a command that fails, or that the runtime rejects, is 500 with the message", async (t) => {
  const failing = await streamWorld(t, {
    execSync: async () => ({ stdout: bytesOf("out"), stderr: bytesOf("no such thing"), exitCode: 2 }),
  });
  const failed = await askRoute(failing.server, "POST", "/run/default/web/app?cmd=ls%20x");
  assert.deepEqual([failed.status, failed.body], [500, "command 'ls x' exited with 2: no such thing"]);
  const refusing = await streamWorld(t, {
    execSync: () => Promise.reject(new RuntimeError("ExecSync", "unknown", "no shell")),
  });
  const refused = await askRoute(refusing.server, "POST", "/run/default/web/app?cmd=sh");
  assert.deepEqual([refused.status, refused.body], [500, "rpc error: code = Unknown desc = no shell"]);
  const { status, body } = await askRoute(refusing.server, "POST", "/run/default/none/app?cmd=sh");
  assert.deepEqual([status, body], [404, "pod does not exist"]);
  assert.equal(
    (await askRoute(refusing.server, "POST", "/run/default/web/none?cmd=sh")).body,
    'container not found ("none")',
  );
});
