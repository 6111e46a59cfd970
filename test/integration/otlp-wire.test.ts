/**
 * Exports spans to a collector on a third-party gRPC server, by every kind of address that the configuration accepts.
 */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { inSpan } from "../../src/concurrency/in-span.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { hostRandom } from "../../src/wire/host/random.ts";
import { openTracing } from "../../src/wire/otlp/open-tracing.ts";
import { keptLog } from "../support/quiet-log.ts";
import { startTraceCollector } from "../support/trace-collector.ts";

/** Exports two spans, one within the other, to this address, and returns the log lines. */
async function tell(endpoint: string): Promise<readonly string[]> {
  const log = keptLog();
  const options = { endpoint, perMillion: 1_000_000, hostName: "n1" };
  const tracing = openTracing(options, { clock: hostClock, random: hostRandom, log });
  await inSpan(tracing.tracer, { scope: "tests", name: "outer" }, () =>
    inSpan(tracing.tracer, { scope: "tests", name: "inner", attributes: { endpoint } }, async () => undefined),
  );
  await tracing.close();
  return log.lines;
}

async function directoryOf(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "otlp-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A name server that resolves every name to 127.0.0.1. */
async function startNameServer(t: TestContext): Promise<number> {
  const server = createSocket("udp4");
  server.on("message", (query, { port, address }) => {
    // The question as received, and one answer that points to it: an IPv4 address with a TTL of one minute.
    const question = query.subarray(12, query.indexOf(0, 12) + 5);
    const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
    const answer = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    server.send(Buffer.concat([head, question, answer]), port, address);
  });
  await new Promise<void>((resolve) => server.bind(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return server.address().port;
}

/** An abstract socket, which has no file, that forwards to a port. */
async function startAbstractSocket(t: TestContext, port: number): Promise<string> {
  const name = `/deckhand-otlp-${process.pid}`;
  const server = createServer((asker) => {
    const answerer = connect(port, "127.0.0.1");
    asker.pipe(answerer).pipe(asker);
    asker.on("error", () => answerer.destroy());
    answerer.on("error", () => asker.destroy());
  });
  await new Promise<void>((resolve) => server.listen(`\0${name}`, resolve));
  t.after(() => server.close());
  return name;
}

test("[22.3] spans reach a collector on a port, by a name, through a name server, and on Unix and abstract sockets", async (t) => {
  const socket = join(await directoryOf(t), "collector.sock");
  const [onSocket, onPort] = [await startTraceCollector(`unix://${socket}`), await startTraceCollector("127.0.0.1:0")];
  t.after(() => {
    onSocket.close();
    onPort.close();
  });
  const { port } = onPort;
  const endpoints = [
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    `dns:///localhost:${port}`,
    `dns://127.0.0.1:${await startNameServer(t)}/collector.example:${port}`,
    `unix-abstract://${await startAbstractSocket(t, port)}`,
    `unix://${socket}`,
  ];
  for (const endpoint of endpoints) assert.deepEqual(await tell(endpoint), [], endpoint);
  const reported = [...onPort.spans, ...onSocket.spans];
  assert.deepEqual(
    reported.filter(({ name }) => name === "inner").map(({ attributes }) => attributes["endpoint"]),
    endpoints,
  );
  assert.equal(onSocket.spans.length, 2);
  for (const { name, traceId, parentId, resource } of reported) {
    const outer = reported.find((span) => span.name === "outer" && span.traceId === traceId);
    assert.equal(parentId, name === "inner" ? outer?.spanId : "");
    assert.deepEqual(resource, { "service.name": "kubelet", "host.name": "n1" });
  }
});

test("[22.3] a collector that is unreachable, or that is no collector, causes only a log line", async (t) => {
  const nobody = join(await directoryOf(t), "nobody.sock");
  assert.match(
    (await tell(`unix://${nobody}`)).join("\n"),
    /Failed to send traces \{"lost":0,"waiting":2,"err":".*ENOENT/,
  );
  assert.match((await tell("")).join("\n"), /Failed to send traces .*not an address/);
  const closing = createServer((asker) => asker.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await new Promise<void>((resolve) => closing.listen(0, "127.0.0.1", resolve));
  t.after(() => closing.close());
  const { port } = closing.address() as AddressInfo;
  assert.match((await tell(`127.0.0.1:${port}`)).join("\n"), /Failed to send traces /);
});

test("[22.3] a collector that accepts a connection and never answers delays shutdown for five seconds and no longer", async (t) => {
  const silent = createServer((asker) => asker.on("error", () => {}).resume());
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const fromMs = performance.now();
  await tell(`127.0.0.1:${port}`);
  const tookMs = performance.now() - fromMs;
  assert.ok(tookMs >= 4_900 && tookMs < 15_000, `${tookMs} ms`);
});
