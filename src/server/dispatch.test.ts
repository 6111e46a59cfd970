import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, type TestContext, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { waitUntil } from "../../test/cluster/wait.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { askPlainly, NodeCaller } from "../../test/support/node-caller.ts";
import { type ServeOptions, serveApi } from "../../test/support/served-api.ts";
import { FOR_SERVERS, type Identity, TestCertificates } from "../../test/support/test-certificates.ts";
import { AccessReviewCache } from "./access-review-cache.ts";
import type { TokenAnswer } from "./authentication.ts";
import { ANY_METHOD, plainRoute, READ } from "./plain-route.ts";
import { sendText } from "./responses.ts";
import { HttpError, type Route, type RouteRequest } from "./route.ts";
import { systemLogsRoute } from "./routes/system-logs.ts";

const proxied = { methods: READ, subresources: ["proxy"] } as const;

/** Answers with the route's path and its parameters. */
const echo = (path: string, more: Partial<Route> = {}): Route => ({
  ...plainRoute(path, proxied, ({ parts, query }, response) => {
    sendText(response, 200, `${path} ${JSON.stringify(parts)} ${query.toString()}`);
  }),
  ...more,
});

const upgraded: string[] = [];
/** Upgrades the connection and echoes what it receives. */
const streaming: Route = echo("/exec/{namespace}/{pod}/{container}", {
  switch: "debugging",
  longRunning: true,
  upgrade: async ({ parts, signal }: RouteRequest, socket, head) => {
    if (parts["pod"] === "none") throw new HttpError(404, "pod does not exist");
    if (parts["pod"] === "broken") throw new Error("the runtime is away");
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
    socket.write(head);
    socket.on("data", (chunk: Buffer) => socket.write(chunk));
    upgraded.push(parts["pod"] ?? "");
    const ended = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => ended.resolve(), { once: true });
    await ended.promise;
  },
});

const ROUTES: readonly Route[] = [
  echo("/debug/pprof/*", { switch: "profiling" }),
  echo("/debug/flags/v", { switch: "debugFlags" }),
  echo("/configz", { switch: "debugging", subresources: ["configz", "proxy"], methods: ANY_METHOD }),
  echo("/pods", { subresources: ["pods", "proxy"], readOnlyPort: true }),
  echo("/containerLogs/{namespace}/{pod}/{container}", { switch: "debugging" }),
  plainRoute("/fails", proxied, () => {
    throw new Error("out of luck");
  }),
  plainRoute("/refuses", proxied, () => {
    throw new HttpError(422, "not like this");
  }),
  systemLogsRoute,
  streaming,
];

describe("the node's API", () => {
  let made: TestCertificates;
  let authority: Identity;
  let serving: Identity;
  let ada: Identity;

  before(async () => {
    made = await TestCertificates.in();
    authority = await made.selfSigned({ subject: "/CN=authority" });
    serving = await made.issue(authority, { subject: "/CN=node", extensions: [FOR_SERVERS] });
    ada = await made.issue(authority, { subject: "/CN=ada" });
  });
  after(async () => made[Symbol.asyncDispose]());

  async function served(t: TestContext, options: Partial<ServeOptions> = {}) {
    const api = serveApi({ routes: ROUTES, certificate: serving, clientCa: authority.certificatePem, ...options });
    const port = await api.port;
    const caller = new NodeCaller({ host: "127.0.0.1", port, identity: ada });
    t.after(async () => {
      caller[Symbol.dispose]();
      await api.stop();
    });
    const answer = async (path: string, method = "GET") => {
      const { status, body } = await caller.ask(path, method);
      return `${status} ${body}`;
    };
    const open = async (identity: Identity | "none" = ada) => {
      const credentials = identity === "none" ? {} : { cert: identity.certificatePem, key: identity.keyPem };
      const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...credentials });
      await once(socket, "secureConnect");
      t.after(() => socket.destroy());
      return socket;
    };
    return { ...api, port, caller, answer, open };
  }

  test("a route gets the parameters of its path and the query", async (t) => {
    const { answer } = await served(t);
    assert.equal(
      await answer("/containerLogs/ns/a%20pod/c?tailLines=5&follow=true"),
      '200 /containerLogs/{namespace}/{pod}/{container} {"namespace":"ns","pod":"a pod","container":"c"} tailLines=5&follow=true',
    );
    assert.equal(await answer("/debug/pprof/a/b"), '200 /debug/pprof/* {"*":"a/b"} ');
    assert.equal(await answer("/debug/pprof/"), '200 /debug/pprof/* {"*":""} ');
    assert.equal(await answer("/pods/"), "200 /pods {} ");
  });

  test("an unknown path is 404, another method 405 with the allowed ones", async (t) => {
    const { answer, caller } = await served(t);
    assert.equal(await answer("/nothing"), "404 404 page not found\n");
    assert.equal(await answer("/pods/x"), "404 404: Page Not Found");
    assert.equal(await answer("/pods", "POST"), "405 405: Method Not Allowed");
    assert.equal((await caller.ask("/pods", "DELETE")).headers.allow, "GET");
    assert.match(await answer("/configz", "DELETE"), /^200 /);
  });

  test("[20.3] a directory's path without its slash is redirected, a page's path with one is 404", async (t) => {
    const { answer, caller } = await served(t);
    const { status, headers, body } = await caller.ask("/debug/pprof?a=<b>&c");
    assert.deepEqual([status, headers.location], [307, "/debug/pprof/?a=<b>&c"]);
    assert.equal(headers["content-type"], "text/html; charset=utf-8");
    assert.equal(body, '<a href="/debug/pprof/?a=&#60;b&#62;&#38;c">Temporary Redirect</a>.\n\n');
    const posted = await caller.ask("/debug/pprof", "POST");
    assert.deepEqual([posted.status, posted.headers["content-type"], posted.body], [307, undefined, ""]);
    assert.equal(await answer("/configz/"), "404 404 page not found\n");
    assert.equal(await answer("/configz/x"), "404 404 page not found\n");
    assert.equal(await answer("/checkpoint"), "404 404 page not found\n"); // No route is registered below this prefix.
    const { caller: closed } = await served(t, { toggles: { debugging: false } });
    assert.equal((await closed.ask("/exec")).headers.location, "/exec/");
    assert.equal((await closed.ask("/exec/")).status, 405);
  });

  test("an ambiguous path is rejected with 400 before authentication", async (t) => {
    const { port, answered } = await served(t);
    using nobody = new NodeCaller({ host: "127.0.0.1", port });
    for (const path of ["//pods", "/pods/../configz", "/%2e%2e/pods", "/a%2fb", "/a%00", "/pods/%2E%2e/exec"]) {
      assert.equal((await nobody.ask(path)).status, 400, path);
    }
    assert.deepEqual([...new Set(answered.map(({ bucket }) => bucket))], ["other"]);
  });

  test("an error of a route is 500 with its text, an HttpError has its own status and text", async (t) => {
    const { answer, said } = await served(t);
    assert.equal(await answer("/fails"), "500 out of luck");
    assert.equal(await answer("/refuses"), "422 not like this");
    assert.equal(said.filter(({ level }) => level === "error").length, 1);
  });

  test("[20.17] without debugging handlers exec and log routes are 405, configz and flags 404", async (t) => {
    const { answer } = await served(t, { toggles: { debugging: false } });
    const closed = "405 Debug endpoints are disabled.\n";
    for (const path of [
      "/run/a/b/c",
      "/exec/a/b/c",
      "/attach/a/b/c",
      "/portForward/a/b",
      "/containerLogs/a/b/c",
      "/runningpods/",
      "/debug/pprof/",
      "/debug/pprof/heap",
      "/logs/",
    ]) {
      for (const method of ["GET", "POST"]) assert.equal(await answer(path, method), closed, path);
    }
    for (const path of ["/configz", "/debug/flags/v"]) assert.match(await answer(path), /^404 /, path);
    assert.match(await answer("/pods"), /^200 /);
  });

  test("[20.16] endpoints that are disabled one by one return 405 with their name", async (t) => {
    const { answer } = await served(t, { toggles: { profiling: false, debugFlags: false, systemLogs: false } });
    assert.equal(await answer("/debug/pprof/"), "405 profiling endpoint is disabled.\n");
    assert.equal(await answer("/debug/pprof/heap", "POST"), "405 profiling endpoint is disabled.\n");
    assert.equal(await answer("/debug/flags/v"), "405 flags endpoint is disabled.\n");
    assert.equal(await answer("/logs/syslog"), "405 logs endpoint is disabled.\n");
    const { answer: on } = await served(t);
    assert.equal(await on("/logs/syslog"), "405 logs endpoint is disabled.\n");
  });

  test("[20.18] the read-only port serves only its own routes, without TLS", async (t) => {
    const { port } = await served(t, { readOnly: true });
    const status = async (path: string) => (await askPlainly(`http://127.0.0.1:${port}${path}`)).status;
    assert.equal(await status("/pods"), 200);
    for (const path of ["/configz", "/checkpoint/a/b/c", "/debug/flags/v"]) assert.equal(await status(path), 404, path);
    for (const path of ["/exec/a/b/c", "/containerLogs/a/b/c", "/debug/pprof/", "/logs/"]) {
      assert.equal(await status(path), 405, path);
    }
  });

  test("an upgrade hands over the connection with bytes already received, and notices its end", async (t) => {
    const { open, answered, underWay } = await served(t);
    const socket = await open();
    socket.write(`${upgradeOf("/exec/ns/pod/c")}early`);
    assert.match(await heard(socket, "early"), /^HTTP\/1.1 101 /);
    socket.write("late");
    await heard(socket, "late");
    assert.equal(underWay(), 1);
    socket.destroy();
    await waitUntil("the end to be heard", 10_000, async () => underWay() === 0);
    assert.deepEqual(
      answered.map(({ status, bucket, longRunning }) => [status, bucket, longRunning]),
      [[101, "exec", true]],
    );
  });

  test("a rejected upgrade is answered in HTTP and ends the connection", async (t) => {
    const { open } = await served(t);
    for (const [path, identity, status, text] of [
      ["/exec/ns/pod/c", "none", 401, "Unauthorized"],
      ["/exec/ns/none/c", ada, 404, "pod does not exist"],
      ["/exec/ns/broken/c", ada, 500, "the runtime is away"],
    ] as const) {
      const socket = await open(identity);
      const all = everything(socket);
      socket.write(`${upgradeOf(path)}GET /pods HTTP/1.1\r\nHost: n\r\n\r\n`);
      const answer = await all;
      assert.ok(answer.startsWith(`HTTP/1.1 ${status} `), answer);
      assert.ok(answer.endsWith(`\r\n\r\n${text}`), answer);
    }
  });

  test("an upgrade request for a plain route is answered without an upgrade", async (t) => {
    const { open } = await served(t);
    const socket = await open();
    socket.write(upgradeOf("/pods"));
    assert.match(await heard(socket, "/pods {}"), /^HTTP\/1.1 200 /);
  });

  test("a stream beyond the limit is 503, and a stream that ends makes space for another", async (t) => {
    const { open, underWay } = await served(t, { streamsMax: 1 });
    const first = await open();
    first.write(upgradeOf("/exec/ns/pod/c"));
    await heard(first, "101");
    const second = await open();
    second.write(upgradeOf("/exec/ns/pod/c"));
    assert.match(await everything(second), /^HTTP\/1.1 503 .*too many streams/s);
    first.destroy();
    await waitUntil("the first to end", 10_000, async () => underWay() === 0);
    const third = await open();
    third.write(upgradeOf("/exec/ns/pod/c"));
    await heard(third, "101");
  });

  test("an idle stream is closed and counted as ended", async (t) => {
    const { open, underWay } = await served(t, { streamIdleMs: 300 });
    const socket = await open();
    const all = everything(socket);
    socket.write(upgradeOf("/exec/ns/pod/c"));
    await all;
    await waitUntil("its end to be counted", 10_000, async () => underWay() === 0);
  });

  test("[20.19] requests are counted by method and kind of path, from fixed sets of both", async (t) => {
    const { answer, answered } = await served(t);
    await answer("/pods");
    await answer("/pods", "PATCH");
    await answer("/anything/at/all");
    await answer("/debug/pprof/");
    await answer("/containerLogs/a/b/c");
    const labels = answered.map(({ method, bucket, serverType, longRunning, status }) =>
      [method, bucket, serverType, longRunning, status].join(" "),
    );
    assert.deepEqual(labels, [
      "GET pods readwrite false 200",
      "other pods readwrite false 405",
      "GET other readwrite false 404",
      "GET debug readwrite true 200",
      "GET containerLogs readwrite false 200",
    ]);
  });

  test("the access log names user, method and path, and never a token, a query or a header", async (t) => {
    const canary = "canary-7f3a9";
    const cache = new AccessReviewCache<TokenAnswer>(new ManualClock(), new AbortController().signal);
    const api = {
      create: async () => ({ status: { authenticated: false, error: "invalid bearer token" } }),
    } as unknown as NonNullable<ServeOptions["tokens"]>["api"];
    const { port, answer, open, said } = await served(t, { tokens: { api, cache, keepMs: 0 } });
    using bad = new NodeCaller({ host: "127.0.0.1", port, token: canary });
    await bad.ask(`/exec/ns/pod/c?command=${canary}`, "GET", { Cookie: canary, "X-Canary": canary });
    await bad.ask(`/${canary}?token=${canary}`);
    await answer(`/containerLogs/ns/pod/c?secret=${canary}`);
    const socket = await open();
    socket.write(upgradeOf(`/exec/ns/pod/c?command=${canary}`));
    await heard(socket, "101");
    socket.destroy();
    await waitUntil("all lines to be logged", 10_000, async () => lines().length === 4);
    function lines() {
      return said.filter(({ message }) => message === "Answered a request");
    }
    assert.deepEqual(
      lines().map(({ level, fields: f }) => [level, f["method"], f["path"], f["status"], f["user"], f["target"]]),
      [
        [0, "GET", "exec", 401, undefined, undefined],
        [0, "GET", "other", 401, undefined, undefined],
        [2, "GET", "containerLogs", 200, "ada", "ns/pod/c"],
        [0, "GET", "exec", 101, "ada", "ns/pod/c"],
      ],
    );
    assert.ok(lines().every(({ fields }) => fields["peer"] === "127.0.0.1" && Number(fields["durationMs"]) >= 0));
    assert.ok(!JSON.stringify(said).includes(canary));
  });

  test("the access log limits the lines of a flood of rejected requests", async (t) => {
    const { port, said } = await served(t, { clock: new ManualClock() });
    using nobody = new NodeCaller({ host: "127.0.0.1", port });
    for (let asked = 0; asked < 200; asked += 1) await nobody.ask("/pods");
    assert.equal(said.filter(({ message }) => message === "Answered a request").length, 50);
  });
});

const upgradeOf = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`;

/** Everything received up to and including `wanted`. */
async function heard(socket: TLSSocket, wanted: string): Promise<string> {
  let text = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.includes(wanted)) return text;
  }
  throw new Error(`the connection ended with ${JSON.stringify(text)}`);
}

async function everything(socket: TLSSocket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}
