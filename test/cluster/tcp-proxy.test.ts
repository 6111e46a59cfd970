import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { TcpProxy } from "./tcp-proxy.ts";
import { pause, waitUntil } from "./wait.ts";

/** Starts an echo server, a proxy in front of it, and a client of the proxy. */
async function echoThrough(t: TestContext) {
  const ended: string[] = [];
  const server = createServer((socket) => {
    socket.pipe(socket);
    socket.on("error", () => {});
    socket.on("close", () => ended.push("server"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const proxy = await TcpProxy.start(`https://127.0.0.1:${port}`);
  const client = await connected(proxy);
  t.after(async () => {
    client.socket.destroy();
    await proxy.close();
    server.close();
  });
  return { proxy, client, ended };
}

async function connected(proxy: TcpProxy) {
  const socket: Socket = connect(Number(new URL(proxy.url).port), "127.0.0.1");
  const client = { socket, text: "", chunks: 0, end: "" };
  socket.on("data", (chunk: Buffer) => {
    client.text += chunk.toString();
    client.chunks += 1;
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    client.end = error.code ?? "error";
  });
  socket.on("end", () => {
    client.end ||= "end";
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  return client;
}

void test("forwards both ways, and passes on the end of one side", async (t) => {
  const { client, ended } = await echoThrough(t);
  client.socket.write("hello");
  await waitUntil("the echo", 2000, () => Promise.resolve(client.text === "hello"));
  client.socket.end();
  await waitUntil("the end", 2000, () => Promise.resolve(client.end === "end" && ended.length === 1));
});

void test("a silent direction holds data back without closing, until the fault is lifted", async (t) => {
  const { proxy, client, ended } = await echoThrough(t);
  client.socket.write("a");
  await waitUntil("the echo", 2000, () => Promise.resolve(client.text === "a"));
  proxy.now({ toClient: { kind: "silent" } });
  client.socket.write("b");
  await pause(100);
  assert.deepEqual([client.text, ended], ["a", []]);
  proxy.now({});
  await waitUntil("what was held back", 2000, () => Promise.resolve(client.text === "ab"));
});

for (const [by, wanted] of [
  ["end", "end"],
  ["reset", "ECONNRESET"],
] as const) {
  void test(`cuts the connection by ${by} after afterBytes bytes`, async (t) => {
    const { proxy, client } = await echoThrough(t);
    proxy.now({ toClient: { kind: "truncate", afterBytes: 1000, by } });
    client.socket.write("x".repeat(5000));
    await waitUntil("the cut", 2000, () => Promise.resolve(client.end !== ""));
    assert.equal(client.end, wanted);
    // A reset may overtake data sent just before it.
    assert.ok(by === "end" ? client.text.length === 1000 : client.text.length <= 1000);
  });
}

void test("delays data and splits it into pieces without changing a byte", async (t) => {
  const { proxy, client } = await echoThrough(t);
  proxy.now({ toServer: { kind: "delay", delayMs: 100 }, toClient: { kind: "pieces", bytes: 1 } });
  const startedMs = performance.now();
  client.socket.write("0123456789");
  await waitUntil("the echo", 2000, () => Promise.resolve(client.text === "0123456789"), 5);
  assert.ok(performance.now() - startedMs >= 99);
  assert.ok(client.chunks > 1, `${client.chunks} chunks`);
});

void test("refuses new connections, keeps existing ones, then listens on the same port again", async (t) => {
  const { proxy, client } = await echoThrough(t);
  await proxy.refuse();
  await assert.rejects(connected(proxy), { code: "ECONNREFUSED" });
  client.socket.write("still");
  await waitUntil("the echo", 2000, () => Promise.resolve(client.text === "still"));
  await proxy.listen();
  const second = await connected(proxy);
  second.socket.destroy();
  assert.equal(proxy.accepted, 2);
});
