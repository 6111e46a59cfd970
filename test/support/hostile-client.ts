/**
 * Hostile clients, in their own process so that the event loop of the server does no other work: `node
 * hostile-client.ts <port> <scale> [host]`. Each attack prints its outcome as one line of JSON.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { connect as connectTls, type TLSSocket } from "node:tls";

const host = process.argv[4] ?? "127.0.0.1";
const KEPT_MAX = 64;
const [port, scale] = [Number(process.argv[2]), Number(process.argv[3])];

/** Opens `count` connections as fast as possible, and counts those that the server keeps and those it cuts. */
async function crowd(count: number, act: (socket: Socket) => void): Promise<{ kept: number; cut: number }> {
  const sockets: Socket[] = [];
  let cut = 0;
  for (let made = 0; made < count; made += 1) {
    const socket = connect({ host, port });
    socket.on("error", () => {});
    socket.on("close", () => {
      cut += 1;
    });
    socket.on("connect", () => act(socket));
    sockets.push(socket);
    if (made % 50 === 49) await pause(1);
  }
  // A server needs time to cut thousands of connections. Connections that still wait in its full queue were not
  // accepted.
  const kept = () => count - cut - sockets.filter(({ connecting }) => connecting).length;
  for (let waited = 0; waited < 80 && kept() > KEPT_MAX; waited += 1) await pause(100);
  const outcome = { kept: kept(), cut };
  for (const socket of sockets) socket.destroy();
  await pause(100);
  return outcome;
}

const tls = (): Promise<TLSSocket | undefined> =>
  new Promise((resolve) => {
    const socket = connectTls({ host, port, rejectUnauthorized: false }, () => resolve(socket));
    socket.on("error", () => resolve(undefined));
  });

/**
 * Sends these bytes and returns the response until the server closes the connection or stays silent for `silenceMs`.
 */
async function speak(bytes: string | Uint8Array, silenceMs = 3000): Promise<string> {
  const socket = await tls();
  if (socket === undefined) return "no connection";
  let text = "";
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  socket.on("close", () => resolve(text));
  socket.setTimeout(silenceMs, () => socket.destroy());
  socket.write(bytes);
  return promise;
}

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
const get = (path: string, headers = "") => `GET ${path} HTTP/1.1\r\nHost: n\r\n${headers}\r\n`;
const upgrade = (path: string) => get(path, "Connection: Upgrade\r\nUpgrade: websocket\r\n");

/** Sends a request that never ends, and measures after how long the server closes the connection. */
async function dribble(bytes: string, everyMs: number): Promise<{ endedMs: number }> {
  const socket = await tls();
  if (socket === undefined) return { endedMs: -1 };
  const startMs = performance.now();
  const { promise, resolve } = Promise.withResolvers<number>();
  socket.on("close", () => resolve(performance.now() - startMs));
  socket.write(bytes);
  const timer = setInterval(() => socket.write("a"), everyMs);
  const endedMs = await promise;
  clearInterval(timer);
  return { endedMs: Math.round(endedMs) };
}

const attacks: Readonly<Record<string, () => Promise<object>>> = {
  halfOpen: () => crowd(1000 * scale, () => {}),
  garbageHandshake: () => crowd(200 * scale, (socket) => socket.write("\x16\x03\x01\x02\x00garbage that is no hello")),
  idle: () => crowd(10_000 * scale, () => {}),
  slowHeader: () => dribble("GET /pods HTTP/1.1\r\nHost: n\r\nA: ", 500),
  pipelined: async () => ({ answers: statuses(await speak(get("/pods").repeat(10_000 * scale))).length }),
  largeCookie: async () => ({ statuses: statuses(await speak(get("/pods", `Cookie: ${"a".repeat(1_000_000)}\r\n`))) }),
  upgradeGarbage: async () => ({
    statuses: statuses(await speak(`${upgrade("/exec/a/b/c")}${"\xff\x00".repeat(1000)}`)),
  }),
  smuggled: async () => ({
    statuses: statuses(
      await speak(
        `POST /pods HTTP/1.1\r\nHost: n\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${get("/exec/a/b/c")}`,
      ),
    ),
  }),
  paths: async () => {
    const paths = ["//pods", "/pods/../exec/a/b/c", "/%2e%2e/exec", "/exec%2fa", "/pods;a", "/PODS", "/a%00b"];
    return {
      statuses: (await Promise.all(paths.map((path) => speak(get(path, "Connection: close\r\n"))))).flatMap(statuses),
    };
  },
  methods: async () => {
    const all = ["HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW", "get"];
    const request = (method: string) => `${method} /pods HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n`;
    return {
      statuses: (await Promise.all(all.map((method) => speak(request(method))))).map((text) => statuses(text)[0] ?? 0),
    };
  },
};

const report = async (name: string, attack: () => Promise<object>) =>
  console.log(JSON.stringify({ name, ...(await attack()) }));

for (const [name, attack] of Object.entries(attacks)) await report(name, attack);
process.exit(0);
