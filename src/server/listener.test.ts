import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectPlainly, createServer, Server } from "node:net";
import { after, before, describe, type TestContext, test } from "node:test";
import { type ConnectionOptions, connect } from "node:tls";
import { pause, waitUntil } from "../../test/cluster/wait.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { NodeCaller } from "../../test/support/node-caller.ts";
import { type ServeOptions, serveApi } from "../../test/support/served-api.ts";
import { FOR_SERVERS, type Identity, TestCertificates } from "../../test/support/test-certificates.ts";
import type { Family } from "../base/metrics/family.ts";
import { hostClock } from "../wire/host/clock.ts";
import { AccessReviewCache } from "./access-review-cache.ts";
import type { TokenAnswer } from "./authentication.ts";
import type { AuthorizationParts } from "./authorization.ts";
import { LIMITS } from "./limits.ts";
import { plainRoute, READ } from "./plain-route.ts";
import { sendText } from "./responses.ts";
import { answerMetrics } from "./stats/answer-metrics.ts";

/** Never ends. */
function* manyFamilies(): Generator<Family> {
  for (let number = 0; ; number += 1) {
    yield { name: `figure_${number}`, help: "a".repeat(10_000), kind: "gauge", samples: [{ labels: [], value: 1 }] };
  }
}

const hello = plainRoute("/hello", { methods: READ, subresources: ["proxy"] }, (_, response) =>
  sendText(response, 200, "hello"),
);

describe("the listener", () => {
  let made: TestCertificates;
  let authority: Identity;
  let serving: Identity;
  let ada: Identity;

  before(async () => {
    made = await TestCertificates.in();
    authority = await made.selfSigned({ subject: "/CN=authority" });
    serving = await made.issue(authority, { subject: "/CN=first", extensions: [FOR_SERVERS] });
    ada = await made.issue(authority, { subject: "/CN=ada" });
  });
  after(async () => made[Symbol.asyncDispose]());

  async function served(t: TestContext, options: Partial<ServeOptions> = {}) {
    const api = serveApi({ routes: [hello], certificate: serving, clientCa: authority.certificatePem, ...options });
    t.after(api.stop);
    const port = await api.port;
    const handshake = async (more: ConnectionOptions = {}) => {
      const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...more });
      t.after(() => socket.destroy());
      await once(socket, "secureConnect");
      return socket;
    };
    const caller = (identity: Identity | undefined = ada) => {
      const one = new NodeCaller({ host: "127.0.0.1", port, identity });
      t.after(() => one[Symbol.dispose]());
      return one;
    };
    /** Sends the bytes and returns everything received until the connection ends. */
    const raw = async (bytes: string) => {
      const socket = await handshake();
      const { promise, resolve } = Promise.withResolvers<string>();
      let text = "";
      socket.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      socket.on("error", () => {});
      socket.on("close", () => resolve(text));
      socket.write(bytes);
      return promise;
    };
    return { ...api, port, handshake, caller, raw };
  }

  test("[2.5] a client certificate is not required for the handshake", async (t) => {
    const { handshake } = await served(t);
    const socket = await handshake({ maxVersion: "TLSv1.2" });
    assert.equal(socket.authorized, false); // This is the server certificate: the client does not trust its CA.
    socket.write("GET /hello HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1.1 401 /);
  });

  test("[2.5] HTTP/1.1 is negotiated, and a client that offers only HTTP/2 is rejected", async (t) => {
    const { handshake } = await served(t);
    assert.equal((await handshake({ ALPNProtocols: ["h2", "http/1.1"] })).alpnProtocol, "http/1.1");
    assert.equal((await handshake()).alpnProtocol, false);
    await assert.rejects(handshake({ ALPNProtocols: ["h2"] }));
  });

  test("[2.5] a TLS version below the minimum is rejected", async (t) => {
    const old = await served(t, { minVersion: "TLSv1.3" });
    await assert.rejects(old.handshake({ maxVersion: "TLSv1.2" }));
    assert.equal((await old.handshake()).getProtocol(), "TLSv1.3");
    const usual = await served(t);
    await assert.rejects(usual.handshake({ maxVersion: "TLSv1.1", minVersion: "TLSv1", ciphers: "ALL:@SECLEVEL=0" }));
    assert.equal((await usual.handshake({ maxVersion: "TLSv1.2" })).getProtocol(), "TLSv1.2");
  });

  test("[2.4] handshakes fail without a certificate, and succeed with the first and each later one", async (t) => {
    const { handshake, certificate, caller } = await served(t, { certificate: undefined });
    await assert.rejects(handshake());
    certificate.set(serving);
    const shown = async () => String((await handshake()).getPeerCertificate().subject.CN);
    await waitUntil("the first to be shown", 10_000, () =>
      shown().then(
        (name) => name === "first",
        () => false,
      ),
    );
    const open = await handshake({ cert: ada.certificatePem, key: ada.keyPem });
    certificate.set(await made.issue(authority, { subject: "/CN=second", extensions: [FOR_SERVERS] }));
    await waitUntil("the second to be shown", 10_000, async () => (await shown()) === "second");
    open.write("GET /hello HTTP/1.1\r\nHost: n\r\n\r\n");
    assert.match(String((await once(open, "data"))[0]), /hello$/);
    assert.equal((await caller().ask("/hello")).body, "hello");
  });

  test("[2.4] a certificate that does not match its key is logged, and the previous one stays in use", async (t) => {
    const { handshake, certificate, said } = await served(t);
    certificate.set({ certificatePem: serving.certificatePem, keyPem: ada.keyPem });
    await waitUntil("the failure to be logged", 10_000, async () =>
      said.some(({ message }) => message === "Failed to serve the new certificate; the previous one stays in use"),
    );
    assert.equal(String((await handshake()).getPeerCertificate().subject.CN), "first");
  });

  test("[2.6] a new client CA applies from the next request on, on open connections too", async (t) => {
    const { caller, clientCa } = await served(t);
    const next = await made.selfSigned({ subject: "/CN=next" });
    const [old, young] = [caller(), caller(await made.issue(next, { subject: "/CN=eve" }))];
    const statuses = async () => [(await old.ask("/hello")).status, (await young.ask("/hello")).status];
    assert.deepEqual(await statuses(), [200, 401]);
    clientCa.set(next.certificatePem);
    assert.equal((await old.ask("/hello")).status, 401);
    await waitUntil("the new one to count", 10_000, async () => (await young.ask("/hello")).status === 200);
    assert.deepEqual(await statuses(), [401, 200]);
    clientCa.set(undefined);
    assert.equal((await young.ask("/hello")).status, 401);
  });

  test("a taken port ends the agent with failureIsFatal", async () => {
    await using taken = createServer();
    taken.listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { readonly port: number };
    const api = serveApi({
      routes: [hello],
      certificate: serving,
      clock: new ManualClock(),
      port,
      failureIsFatal: true,
    });
    await assert.rejects(api.ended, {
      message: `Failed to listen and serve: listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
    });
  });

  test("a taken port is tried again, with one log line per failure", async (t) => {
    const taken = createServer();
    taken.listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { readonly port: number };
    const clock = new ManualClock();
    const api = serveApi({ routes: [hello], certificate: serving, clock, port });
    t.after(api.stop);
    const failures = () => api.said.filter(({ message }) => message === "Failed to listen and serve").length;
    await waitUntil("the first failure", 10_000, async () => failures() === 1);
    await clock.advance(5000);
    await waitUntil("the second failure", 10_000, async () => failures() === 2);
    taken.close();
    await once(taken, "close");
    await clock.advance(5000);
    assert.equal(await api.port, port);
  });

  test("oversized URLs, headers, header counts and bodies are rejected", async (t) => {
    const { raw } = await served(t);
    const status = async (lines: string) => Number(/^HTTP\/1.1 (\d+)/.exec(await raw(`${lines}\r\n`))?.[1] ?? "0");
    const get = (path: string, headers = "") => `GET ${path} HTTP/1.1\r\nHost: n\r\nConnection: close\r\n${headers}`;
    assert.equal(await status(get(`/${"a".repeat(LIMITS.urlBytesMax)}`)), 414);
    assert.equal(await status(get("/hello", `Cookie: ${"a".repeat(LIMITS.headerBytesMax)}\r\n`)), 431);
    assert.equal(await status(get("/hello", "A: b\r\n".repeat(LIMITS.headersMax + 1))), 431);
    assert.equal(
      await status(
        `POST /hello HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: ${LIMITS.bodyBytesMax + 1}\r\n`,
      ),
      413,
    );
    assert.equal(await status(get("/hello", "A: b\r\n".repeat(50))), 401);
  });

  test("a request that a proxy could read differently is rejected with 400", async (t) => {
    const { raw } = await served(t);
    for (const request of [
      "POST /hello HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
      "POST /hello HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
      "GET /hello HTTP/1.1\r\nHost: n\r\nA: b\r\n c\r\nB : d\r\n\r\n",
      "GET /hello HTTP/1.1\nHost: n\n\n",
      "GET /hello HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: xchunked\r\n\r\n",
      "GET  /hello HTTP/9.9\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]) {
      assert.match(await raw(request), /^HTTP\/1.1 400 /, JSON.stringify(request));
    }
  });

  test("a request body that goes on after the response is cut off", async (t) => {
    const { handshake } = await served(t);
    const socket = await handshake();
    socket.on("error", () => {});
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    socket.on("close", () => resolve());
    socket.write("POST /hello HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n");
    const chunk = `10000\r\n${"a".repeat(0x10000)}\r\n`;
    const pour = () => {
      if (socket.writable) socket.write(chunk, pour);
    };
    const beginMs = hostClock.monotonicMs();
    pour();
    await closed;
    const tookMs = hostClock.monotonicMs() - beginMs;
    assert.ok(tookMs < LIMITS.leftoverMsMax + 5_000, `${tookMs} ms`);
  });

  test("too many pipelined requests end the connection", async (t) => {
    const { raw, answered } = await served(t);
    await raw("GET /hello HTTP/1.1\r\nHost: n\r\n\r\n".repeat(2_500 * LIMITS.pipelinedMax));
    assert.ok(answered.length < 1000, String(answered.length));
  });

  test("unauthenticated connections beyond the limit per address are evicted; authenticated ones do not count", async (t) => {
    const { port, caller, limiter } = await served(t);
    const known = caller();
    assert.equal((await known.ask("/hello")).status, 200);
    const idle = Array.from({ length: LIMITS.unauthenticatedPerPeerMax + 20 }, () => {
      const socket = connectPlainly({ host: "127.0.0.1", port });
      socket.on("error", () => {});
      t.after(() => socket.destroy());
      return socket;
    });
    await waitUntil("twenty evictions", 10_000, async () => limiter.evicted === 20);
    assert.equal(limiter.unauthenticated, LIMITS.unauthenticatedPerPeerMax);
    assert.equal((await known.ask("/hello")).status, 200);
    for (const socket of idle) socket.destroy();
    await waitUntil("the connections to be forgotten", 10_000, async () => limiter.unauthenticated === 0);
    assert.equal((await caller().ask("/hello")).status, 200);
  });

  test("an authenticated client that is not authorized still counts as unauthenticated", async (t) => {
    const refused: AuthorizationParts = {
      mode: "webhook",
      api: { create: async (_: unknown, review: object) => ({ ...review, status: { allowed: false } }) } as never,
      cache: new AccessReviewCache<boolean>(new ManualClock(), new AbortController().signal),
      nodeName: "n1",
      keepAllowedMs: 0,
      keepDeniedMs: 0,
    };
    const { caller, limiter } = await served(t, { authorization: refused });
    assert.equal((await caller().ask("/hello")).status, 403);
    assert.deepEqual([limiter.connections, limiter.unauthenticated], [1, 1]);
  });

  test("a client that disconnects during the authentication of an upgrade affects no other client", async (t) => {
    const asked = Promise.withResolvers<void>();
    const life = new AbortController();
    t.after(() => life.abort());
    const api = {
      create: async () => {
        asked.resolve();
        await once(life.signal, "abort");
        throw new Error("over");
      },
    };
    const cache = new AccessReviewCache<TokenAnswer>(new ManualClock(), life.signal);
    const upgrade = async () => assert.fail("nobody may get here");
    const { port, caller, limiter, raw } = await served(t, {
      routes: [hello, { ...hello, path: "/stream", upgrade }],
      tokens: { api: api as never, cache, keepMs: 0 },
    });
    const head = "GET /stream HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n";
    const bodies = [
      "Content-Length: 10\r\n\r\n",
      "Content-Length: 3\r\n\r\nabc",
      "Transfer-Encoding: chunked\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ];
    for (const body of bodies)
      assert.match(await raw(`${head}${body}`), /^HTTP\/1.1 400 .*\r\nConnection: close\r\n/s, body);
    const bare = connectPlainly({ host: "127.0.0.1", port });
    const socket = connect({ socket: bare, rejectUnauthorized: false });
    for (const one of [bare, socket]) one.on("error", () => {});
    await once(socket, "secureConnect");
    socket.write(`${head}Authorization: Bearer bogus\r\n\r\n`);
    await asked.promise;
    bare.resetAndDestroy();
    await waitUntil("no connection to be left", 10_000, async () => limiter.connections === 0);
    assert.equal((await caller().ask("/hello")).status, 200);
  });

  test("failures to accept a connection are logged at a limited rate, and the next connection is served", async (t) => {
    const listen = t.mock.method(Server.prototype, "listen");
    const { caller, said } = await served(t);
    const [server] = listen.mock.calls.map((call) => call.this as Server);
    const reported = () => said.filter(({ message }) => message === "Failed to accept a connection").length;
    for (let time = 1; time <= 20; time += 1) server?.emit("error", new Error("accept EMFILE"));
    assert.equal(reported(), 5);
    assert.equal((await caller().ask("/hello")).status, 200);
    assert.deepEqual([listen.mock.callCount(), server?.listening], [1, true]);
  });

  test("small parts of a response do not wait for the client's acknowledgements", async (t) => {
    const bits = plainRoute("/bits", { methods: READ, subresources: ["proxy"] }, async (_, response) => {
      for (const bit of ["a", "b", "c"]) {
        response.write(bit);
        await pause(1);
      }
      response.end();
    });
    const { caller } = await served(t, { routes: [bits] });
    const one = caller();
    const tookMs: number[] = [];
    for (let time = 0; time < 41; time += 1) {
      const sinceMs = hostClock.monotonicMs();
      assert.equal((await one.ask("/bits")).body, "abc");
      tookMs.push(hostClock.monotonicMs() - sinceMs);
    }
    // The kernel delays acknowledgements by 40 ms.
    const middleMs = tookMs.toSorted((a, b) => a - b)[20] ?? Infinity;
    assert.ok(middleMs < 35, `${middleMs} ms`);
  });

  test("a 401 ends the connection", async (t) => {
    const { raw, limiter } = await served(t);
    assert.match(await raw("GET /hello HTTP/1.1\r\nHost: n\r\n\r\n"), /^HTTP\/1.1 401 .*\r\nConnection: close\r\n/s);
    await waitUntil("the connection to be forgotten", 10_000, async () => limiter.connections === 0);
  });

  test("the access log limits the lines of requests rejected before authentication", async (t) => {
    const { raw, said, answered } = await served(t);
    const long = `GET /exec/a/b/c?${"x".repeat(LIMITS.urlBytesMax)} HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n`;
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 30 }, () => raw(long)));
    assert.equal(answered.filter(({ status }) => status === 414).length, 300);
    const reported = said.filter(({ message }) => message === "Answered a request").length;
    assert.ok(reported >= 50 && reported < 200, String(reported));
  });

  test("a response that the client does not read is cut off at the time limit", async (t) => {
    const clock = new ManualClock();
    const forAnybody = { methods: READ, subresources: ["proxy"], readOnlyPort: true } as const;
    const large = plainRoute("/large", forAnybody, (_, response) =>
      sendText(response, 200, "a".repeat(64 * 1_048_576)),
    );
    const figures = plainRoute("/figures", forAnybody, (asked, response) =>
      answerMetrics(asked, response, manyFamilies()),
    );
    for (const path of ["/large", "/figures"]) {
      const { port, limiter, underWay } = await served(t, { routes: [large, figures], clock, readOnly: true });
      const socket = connectPlainly({ host: "127.0.0.1", port });
      socket.on("error", () => {});
      t.after(() => socket.destroy());
      socket.pause();
      socket.write(`GET ${path} HTTP/1.1\r\nHost: n\r\n\r\n`);
      await waitUntil("the request to begin", 10_000, async () => underWay() === 1);
      await clock.advance(LIMITS.answerMsMax - 1);
      assert.equal(underWay(), 1);
      await clock.advance(1);
      await waitUntil("the response to be cut off", 10_000, async () => underWay() === 0 && limiter.connections === 0);
    }
  });

  test("shutdown closes every connection", async (t) => {
    const { handshake, stop, limiter } = await served(t);
    const socket = await handshake();
    const closed = once(socket, "close");
    await stop();
    await closed;
    assert.equal(limiter.connections, 0);
    await assert.rejects(handshake());
  });
});
