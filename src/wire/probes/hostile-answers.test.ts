/** Applications that answer a probe without end. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { test } from "node:test";
import type { Clock } from "../../ports/clock.ts";
import { frame } from "../grpc/frames.ts";
import { hostClock } from "../host/clock.ts";
import { GRPC_ERROR_BYTES_MAX, HEALTH_MESSAGE_BYTES_MAX } from "../limits.ts";
import { READS_AT_ONCE } from "./http-probe.ts";
import { createProber } from "./prober.ts";

const LIMIT_MS = 10_000;
const { signal } = new AbortController();
/** Thousands of empty messages. */
const MANY = Buffer.alloc(5 * 10_000);

async function serving(onStream: (stream: ServerHttp2Stream) => void) {
  const server = createServer().on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    onStream(stream);
  });
  server.on("sessionError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => void (await new Promise((resolve) => server.close(resolve))),
  };
}

test("[12.5] gRPC probe fails at the second message of a server that never stops sending", async () => {
  let sentBytes = 0;
  await using server = await serving((stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    const pour = () => {
      if (stream.destroyed) return;
      sentBytes += MANY.length;
      if (stream.write(MANY)) hostClock.after(0, pour);
      else stream.once("drain", pour);
    };
    pour();
  });
  const beginMs = hostClock.monotonicMs();
  const request = { service: "", userAgent: "kube-probe/1.36" };
  const health = await createProber(hostClock).grpc(
    { host: "127.0.0.1", port: server.port },
    request,
    LIMIT_MS,
    signal,
  );
  assert.deepEqual(health, {
    kind: "refused",
    code: 13,
    message: "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message",
  });
  assert.ok(hostClock.monotonicMs() - beginMs < LIMIT_MS / 2, `${hostClock.monotonicMs() - beginMs} ms`);
  assert.ok(sentBytes < 8 * 1024 * 1024, `${sentBytes} bytes`);
});

const healthAt = ({ port }: { readonly port: number }) =>
  createProber(hostClock).grpc({ host: "127.0.0.1", port }, { service: "", userAgent: "kube-probe" }, LIMIT_MS, signal);

test("[12.5] gRPC probe accepts a message of exactly the limit and rejects a longer one", async () => {
  let sizeBytes = HEALTH_MESSAGE_BYTES_MAX;
  await using server = await serving((stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const serving = [0x08, 0x01];
    stream.end(frame(Buffer.alloc(sizeBytes).fill(Buffer.from(serving), 0, serving.length)));
  });
  assert.deepEqual(await healthAt(server), { kind: "status", status: "SERVING" });
  sizeBytes += 1;
  const message = `an answer of ${sizeBytes} bytes exceeds the limit of ${HEALTH_MESSAGE_BYTES_MAX}`;
  assert.deepEqual(await healthAt(server), { kind: "refused", code: 8, message });
});

test("[12.5] gRPC probe cuts the error message at the limit", async () => {
  const most = "x".repeat(GRPC_ERROR_BYTES_MAX);
  let message = most;
  await using server = await serving((stream) => {
    const status = { "grpc-status": "5", "grpc-message": message };
    stream.respond({ ":status": 200, "content-type": "application/grpc", ...status }, { endStream: true });
  });
  assert.deepEqual(await healthAt(server), { kind: "refused", code: 5, message: most });
  message = `${most}y`;
  assert.deepEqual(await healthAt(server), { kind: "refused", code: 5, message: `${most}... (1 more characters)` });
});

test("[12.3] HTTP probe reads a response sent byte by byte, in fewer reads than it has bytes", async () => {
  const body = "0123456789".repeat(20);
  const response = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const server = createTcpServer({ noDelay: true }, (socket) => {
    const trickle = (text: string) => {
      if (socket.destroyed || text === "") return;
      socket.write(text.slice(0, 1));
      hostClock.after(1, () => trickle(text.slice(1)));
    };
    socket.on("error", () => {});
    trickle(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const pausesMs: number[] = [];
  const clock: Clock = {
    ...hostClock,
    after: (ms, run) => {
      if (ms < LIMIT_MS) pausesMs.push(ms);
      return hostClock.after(ms, run);
    },
  };
  const { port } = server.address() as AddressInfo;
  const get = { scheme: "http", host: "127.0.0.1", port, target: "/", headers: [] } as const;
  const answer = await createProber(clock).http(get, { limitMs: LIMIT_MS, bodyBytesMax: 1_000 }, signal);
  assert.deepEqual([answer.status, Buffer.from(answer.body).toString()], [200, body]);
  const reads = READS_AT_ONCE + pausesMs.length;
  assert.ok(pausesMs.length > 0 && reads < response.length / 8, `${reads} reads of ${response.length} bytes`);
  assert.deepEqual(pausesMs.slice(0, 6), [20, 40, 60, 80, 100, 100].slice(0, pausesMs.length));
  await new Promise((resolve) => server.close(resolve));
});
