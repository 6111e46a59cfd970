import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { type HealthCheck, type HealthzOptions, logCheck, pingCheck, runHealthz, syncLoopCheck } from "./healthz.ts";
import { HEALTHZ_LIMITS } from "./limits.ts";

interface Said {
  readonly message: string;
  readonly error?: unknown;
}

/** Serves on an ephemeral port until the test ends. */
async function serving(t: TestContext, checks: readonly HealthCheck[], port = 0) {
  const said: Said[] = [];
  const clock = new ManualClock();
  const shutdown = new AbortController();
  const { promise: listening, resolve } = Promise.withResolvers<string>();
  const log = {
    info: (_: number, message: string) => void said.push({ message }),
    error: (message: string, error: unknown) => void said.push({ message, error }),
  };
  const onListening = ({ address, port: bound }: { readonly address: string; readonly port: number }) =>
    resolve(`http://${address}:${bound}`);
  const ended = runHealthz(
    { kind: "on", address: "127.0.0.1", port },
    { clock, log, checks, onListening },
    shutdown.signal,
  );
  const stop = async () => {
    shutdown.abort();
    await ended;
  };
  t.after(stop);
  return { listening, said, clock, stop };
}

function get(url: string): Promise<{ status: number | undefined; type: string | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent: keptAlive }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode, type: response.headers["content-type"], body }));
    });
    call.once("error", reject);
    call.end();
  });
}

const keptAlive = new Agent({ keepAlive: true });

const failing: HealthCheck = { name: "syncloop", check: () => "the reason" };
const plain = "text/plain; charset=utf-8";

void test("[1.19] healthz is ok while every check passes, each has its own path, and ?verbose lists them", async (t) => {
  const base = await (await serving(t, [pingCheck, { name: "log", check: () => undefined }])).listening;
  assert.deepEqual(await get(`${base}/healthz`), { status: 200, type: plain, body: "ok" });
  assert.deepEqual(await get(`${base}/healthz/log`), { status: 200, type: plain, body: "ok" });
  assert.equal((await get(`${base}/healthz?verbose`)).body, "[+]ping ok\n[+]log ok\nhealthz check passed\n");
  assert.deepEqual([(await get(`${base}/`)).status, (await get(`${base}/healthz/none`)).status], [404, 404]);
});

void test("[1.19] a client that holds all connections locks nobody out: its oldest connection is evicted", async (t) => {
  const base = await (await serving(t, [])).listening;
  const { port } = new URL(base);
  const crowd = Array.from(
    { length: Math.min(HEALTHZ_LIMITS.unauthenticatedMax, HEALTHZ_LIMITS.unauthenticatedPerPeerMax) },
    (_, index) => {
      const socket = connect({ host: "127.0.0.1", port: Number(port) });
      socket.on("error", () => {}).resume();
      if (index % 2 === 0) socket.write("GET /healthz HTTP/1.1\r\nHost: n\r\n\r\n");
      t.after(() => socket.destroy());
      return socket;
    },
  );
  await Promise.all(crowd.map((socket) => once(socket, "connect")));
  const [oldest] = crowd;
  assert.equal((await get(`${base}/healthz`)).body, "ok");
  assert.ok(oldest !== undefined);
  if (!oldest.closed) await once(oldest, "close");
  assert.equal((await get(`${base}/healthz`)).body, "ok");
});

void test("[1.19] an idle connection is closed", async (t) => {
  const { listening, clock } = await serving(t, []);
  const { port } = new URL(await listening);
  const socket = connect({ host: "127.0.0.1", port: Number(port) });
  socket.on("error", () => {}).resume();
  t.after(() => socket.destroy());
  await once(socket, "connect");
  while (clock.timersPending === 0) await clock.advance(0);
  const closed = once(socket, "close");
  await clock.advance(HEALTHZ_LIMITS.unauthenticatedMsMax - 1);
  assert.equal(socket.closed, false);
  await clock.advance(1);
  await closed;
});

void test("[1.19] a failing check makes healthz return 500 without the reason", async (t) => {
  const { listening, said } = await serving(t, [pingCheck, failing]);
  const base = await listening;
  const body = "[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n";
  assert.deepEqual(await get(`${base}/healthz`), { status: 500, type: plain, body });
  assert.deepEqual(said, [{ message: "healthz check failed" }]);
  assert.equal((await get(`${base}/healthz/syncloop`)).body, "internal server error: the reason\n");
});

void test("[1.19] a check can be excluded, and an unknown exclusion is named", async (t) => {
  const base = await (await serving(t, [pingCheck, failing])).listening;
  assert.equal((await get(`${base}/healthz?exclude=syncloop`)).body, "ok");
  assert.equal(
    (await get(`${base}/healthz?verbose&exclude=syncloop&exclude=b&exclude=a`)).body,
    '[+]ping ok\n[+]syncloop excluded: ok\nwarn: some health checks cannot be excluded: no matches for "a","b"\nhealthz check passed\n',
  );
});

void test("[1.19] a check that throws returns 500, an invalid path 400", async (t) => {
  const broken: HealthCheck = {
    name: "log",
    check: () => {
      throw new Error("gone");
    },
  };
  const base = await (await serving(t, [broken])).listening;
  assert.equal((await get(`${base}/healthz`)).status, 500);
  assert.equal((await get(`${base}//`)).status, 400);
});

void test("[1.19] the sync loop check fails after twice its period and at least 5 min, but not before the first turn", () => {
  const at = (nowMs: number, everyMs: number, turnMs: number | undefined) =>
    syncLoopCheck({ monotonicMs: () => nowMs }, everyMs, () => turnMs).check();
  assert.equal(at(300_000, 60_000, 0), undefined);
  assert.equal(at(300_001, 60_000, 0), "sync Loop took longer than expected");
  assert.equal(at(300_001, 60_000, 300_000), undefined);
  assert.equal(at(300_001, 60_000, undefined), undefined);
  assert.equal(at(1_000_000, 600_000, 0), undefined);
});

void test("[1.19] the log check flushes the log", () => {
  let flushed = 0;
  assert.equal(logCheck(() => void (flushed += 1)).check(), undefined);
  assert.equal(flushed, 1);
});

void test("[1.25] a taken port is logged and tried again every 5 s, until it is free", async (t) => {
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  const bound = holder.address();
  assert.ok(typeof bound === "object" && bound !== null);
  const { listening, said, clock } = await serving(t, [], bound.port);
  const until = async (count: number) => {
    while (said.length < count || clock.timersPending === 0) await clock.advance(0);
  };
  await until(1);
  await clock.advance(4999);
  assert.equal(said.length, 1);
  await clock.advance(1);
  await until(2);
  assert.ok(
    said.every(
      ({ message, error }) => message === "Failed to start healthz server" && /EADDRINUSE/.test(String(error)),
    ),
  );
  await new Promise((resolve) => holder.close(resolve));
  await clock.advance(5000);
  assert.equal((await get(`${await listening}/healthz`)).body, "ok");
});

void test("[1.25] onTried is called after the first attempt, whether the port is free, taken or off", async (t) => {
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  t.after(() => holder.close());
  const bound = holder.address();
  assert.ok(typeof bound === "object" && bound !== null);
  const log = { info: () => {}, error: () => {} };
  const on = (port: number): HealthzOptions => ({ kind: "on", address: "127.0.0.1", port });
  for (const options of [on(0), on(bound.port), { kind: "off" } as const]) {
    const stop = new AbortController();
    const { promise: tried, resolve: onTried } = Promise.withResolvers<void>();
    const running = runHealthz(options, { clock: new ManualClock(), log, checks: [], onTried }, stop.signal);
    await tried;
    stop.abort(new Error("enough"));
    await running;
  }
});

void test("[1.25] port 0 opens no listener", async () => {
  const log = { info: () => assert.fail(), error: () => assert.fail() };
  await runHealthz({ kind: "off" }, { clock: new ManualClock(), log, checks: [] }, new AbortController().signal);
});

void test("healthz ends with its signal, even with a connection open", async (t) => {
  const { listening, stop } = await serving(t, []);
  const base = await listening;
  await get(`${base}/healthz`);
  await stop();
  await assert.rejects(get(`${base}/healthz`));
});
