/** Which requests are retried and which are not, and invalid responses. */
import assert from "node:assert/strict";
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Eviction } from "../../../src/api/gen/policy-v1.ts";
import { configMaps, pods } from "../../../src/api/resources.ts";
import { ApiError } from "../../../src/ports/api-error.ts";
import type { ApiObject, Resource } from "../../../src/ports/api-server.ts";
import { configMap, pod, take } from "../../contract/api-server/world.ts";
import { newNamespace } from "../api-world.ts";
import { answer, type Handler, stubServer } from "./stub-server.ts";
import { assertUnreachable, type ClusterOf, clientFor, forever, timed } from "./world.ts";

const target = { namespace: "ns", name: "x" };
const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { ...target, uid: "u" } };
const busy = { kind: "Status", status: "Failure", reason: "TooManyRequests", message: "later" };

const budgets: Resource<ApiObject> = {
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
};

export function retryCases(cluster: ClusterOf): void {
  evictionCases(cluster);
  laterCases(cluster);
  unseenCases(cluster);
  nonsenseCases(cluster);
}

function evictionCases(cluster: ClusterOf): void {
  const guarded = async (t: Parameters<typeof clientFor>[0]) => {
    const admin = await clientFor(t, cluster());
    const ns = await newNamespace(admin);
    const where = { namespace: ns, name: "web" };
    await admin.create(pods, pod(ns, "web", { nodeName: "n" }), forever);
    const ready = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
    await admin.patch(pods, where, { kind: "strategic", body: ready }, { subresource: "status" }, forever);
    const spec = { minAvailable: 0, selector: { matchLabels: { app: "web" } } };
    const budget = await admin.create(budgets, { metadata: where, spec } as ApiObject, forever);
    const eviction: Eviction = { metadata: where };
    return { admin, where, budget, eviction };
  };

  void test("an eviction whose PodDisruptionBudget no controller has processed yet gets 429 with Retry-After 10 s", async (t) => {
    const { where, eviction } = await guarded(t);
    const api = await clientFor(t, cluster(), { retriesMax: 0 });
    await assert.rejects(api.ask(pods, where, "eviction", eviction, forever), (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.status, error.retryAfterMs], [429, 10_000]);
      return true;
    });
  });

  void test("an eviction is retried after Retry-After and succeeds", async (t) => {
    const { admin, where, budget, eviction } = await guarded(t);
    const api = await clientFor(t, cluster(), { retriesMax: 1 });
    const call = timed(() => api.ask(pods, where, "eviction", eviction, forever));
    await setTimeout(1000);
    const status = {
      observedGeneration: 1,
      disruptionsAllowed: 1,
      currentHealthy: 1,
      desiredHealthy: 0,
      expectedPods: 1,
    };
    await admin.update(budgets, { ...budget, status } as ApiObject, { subresource: "status" }, forever);
    const { tookMs, outcome } = await call;
    assert.ok(!(outcome instanceof Error));
    assert.ok(tookMs >= 10_000 && tookMs < 20_000, `${tookMs} ms`);
    assert.ok((await admin.get(pods, where, forever)).metadata?.deletionTimestamp);
  });
}

function laterCases(cluster: ClusterOf): void {
  for (const status of [429, 503]) {
    void test(`${status} with Retry-After is retried after that time`, async (t) => {
      const handler: Handler = (stream, turn) =>
        turn === 1 ? answer(stream, status, busy, { "retry-after": "1" }) : answer(stream, 200, object);
      const server = await stubServer(t, cluster(), handler);
      const api = await clientFor(t, cluster(), { url: server.url });
      const { tookMs, outcome } = await timed(() => api.get(configMaps, target, forever));
      assert.deepEqual(outcome, object);
      assert.ok(tookMs >= 1000 && tookMs < 5000, `${tookMs} ms`);
    });
  }

  void test("gives up after retriesMax retries, and the caller gets the 429", async (t) => {
    const server = await stubServer(t, cluster(), (stream) => answer(stream, 429, busy, { "retry-after": "0" }));
    const api = await clientFor(t, cluster(), { url: server.url, retriesMax: 2 });
    await assert.rejects(api.get(configMaps, target, forever), { status: 429, retryAfterMs: 0 });
    assert.equal(server.requests, 3);
  });

  void test("a Retry-After beyond the deadline is returned to the caller at once", async (t) => {
    const server = await stubServer(t, cluster(), (stream) => answer(stream, 429, busy, { "retry-after": "60" }));
    const api = await clientFor(t, cluster(), { url: server.url });
    const { tookMs, outcome } = await timed(() => api.get(configMaps, target, forever));
    assert.ok(outcome instanceof ApiError && outcome.retryAfterMs === 60_000 && tookMs < 10_000);
  });

  for (const [status, headers] of [
    [429, {}],
    [500, { "retry-after": "1" }],
    [504, { "retry-after": "1" }],
  ] as const) {
    void test(`${status} ${"retry-after" in headers ? "with" : "without"} Retry-After is not retried`, async (t) => {
      const server = await stubServer(t, cluster(), (stream) => answer(stream, status, busy, headers));
      const api = await clientFor(t, cluster(), { url: server.url });
      await assert.rejects(api.create(configMaps, configMap("ns", "x"), forever), { status });
      assert.equal(server.requests, 1);
    });
  }

  void test("an abort while waiting for Retry-After rejects with the signal's reason", async (t) => {
    const server = await stubServer(t, cluster(), (stream) => answer(stream, 429, busy, { "retry-after": "20" }));
    const api = await clientFor(t, cluster(), { url: server.url });
    const reason = new Error("gave up");
    const giveUp = new AbortController();
    const call = api.get(configMaps, target, giveUp.signal);
    await setTimeout(300);
    giveUp.abort(reason);
    await assert.rejects(call, (error) => error === reason);
  });
}

function unseenCases(cluster: ClusterOf): void {
  void test("a stream refused with REFUSED_STREAM is retried at once", async (t) => {
    const handler: Handler = (stream, turn) =>
      turn === 1 ? stream.close(constants.NGHTTP2_REFUSED_STREAM) : answer(stream, 201, object);
    const server = await stubServer(t, cluster(), handler);
    const api = await clientFor(t, cluster(), { url: server.url });
    assert.deepEqual(await api.create(configMaps, configMap("ns", "x"), forever), object);
    assert.equal(server.requests, 2);
  });

  void test("gives up when every stream is refused, and reports that nothing happened", async (t) => {
    const server = await stubServer(t, cluster(), (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
    const api = await clientFor(t, cluster(), { url: server.url, retriesMax: 2 });
    const { outcome } = await timed(() => api.create(configMaps, configMap("ns", "x"), forever));
    assertUnreachable(outcome, { mayHaveHappened: false });
    assert.equal(server.requests, 3);
  });

  void test("a request beyond the last stream of a GOAWAY is retried over a new connection", async (t) => {
    const handler: Handler = (stream, turn) =>
      turn === 2 ? stream.session?.goaway(constants.NGHTTP2_NO_ERROR, 1) : answer(stream, 201, object);
    const server = await stubServer(t, cluster(), handler);
    const api = await clientFor(t, cluster(), { url: server.url });
    for (let call = 1; call <= 2; call += 1) {
      assert.deepEqual(await api.create(configMaps, configMap("ns", "x"), forever), object);
    }
    assert.deepEqual([server.requests, server.connections], [3, 2]);
  });

  void test("a request covered by a GOAWAY gets its response, and the next uses a new connection", async (t) => {
    const farewell = Promise.withResolvers<void>();
    let covered: ServerHttp2Stream | undefined;
    const handler: Handler = (stream) => {
      if (covered === undefined) {
        covered = stream;
        stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id ?? 1);
        farewell.resolve();
        return;
      }
      if (stream.session === covered.session) return; // Sent before the GOAWAY arrived: not covered, and sent again.
      for (const open of [covered, stream]) answer(open, 200, object);
    };
    const server = await stubServer(t, cluster(), handler);
    const api = await clientFor(t, cluster(), { url: server.url });
    const first = api.get(configMaps, target, forever);
    await farewell.promise;
    assert.deepEqual(await api.get(configMaps, target, forever), object);
    assert.deepEqual(await first, object);
    assert.equal(server.connections, 2);
  });

  void test("a stream that breaks after the server saw the request is not retried", async (t) => {
    const server = await stubServer(t, cluster(), (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    const api = await clientFor(t, cluster(), { url: server.url });
    const { outcome } = await timed(() => api.create(configMaps, configMap("ns", "x"), forever));
    assertUnreachable(outcome, { mayHaveHappened: true });
    assert.equal(server.requests, 1);
  });

  void test("opens no more concurrent streams on a connection than the server allows", async (t) => {
    const open: ServerHttp2Stream[] = [];
    const perConnection = new Map<unknown, number>();
    const server = await stubServer(
      t,
      cluster(),
      (stream) => {
        open.push(stream);
        perConnection.set(stream.session, (perConnection.get(stream.session) ?? 0) + 1);
        if (open.length === 5) for (const each of open) answer(each, 200, object);
      },
      { maxConcurrentStreams: 2 },
    );
    const api = await clientFor(t, cluster(), { url: server.url });
    await Promise.all(Array.from({ length: 5 }, () => api.get(configMaps, target, forever)));
    assert.deepEqual([...perConnection.values()], [2, 2, 1]);
  });
}

function nonsenseCases(cluster: ClusterOf): void {
  for (const body of ["<html>", '{"metadata":{"name":"x"', ""]) {
    void test(`a 200 response that is not JSON is an error: ${JSON.stringify(body)}`, async (t) => {
      const server = await stubServer(t, cluster(), (stream) => answer(stream, 200, body));
      const api = await clientFor(t, cluster(), { url: server.url });
      const { outcome } = await timed(() => api.get(configMaps, target, forever));
      assertUnreachable(outcome, { mayHaveHappened: true });
    });
  }

  const event = JSON.stringify({ type: "ADDED", object });
  for (const [name, body] of [
    ["a line that is not JSON", `${event}\noops\n`],
    ["an end in the middle of a line", `${event}\n${event.slice(0, 20)}`],
  ] as const) {
    void test(`a watch with ${name} yields the events before it and then fails`, async (t) => {
      const server = await stubServer(t, cluster(), (stream) => answer(stream, 200, body));
      const api = await clientFor(t, cluster(), { url: server.url });
      const seen: string[] = [];
      const { outcome } = await timed(async () => {
        for await (const { kind } of api.watch(configMaps, {}, { kind: "initialEvents" }, forever)) seen.push(kind);
      });
      assertUnreachable(outcome, { mayHaveHappened: true });
      assert.deepEqual(seen, ["added"]);
    });
  }

  void test("an ERROR watch event rejects with the status it holds", async (t) => {
    const status = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
    const server = await stubServer(t, cluster(), (stream) =>
      answer(stream, 200, `${JSON.stringify({ type: "ERROR", object: status })}\n`),
    );
    const api = await clientFor(t, cluster(), { url: server.url });
    const watch = take(api.watch(configMaps, {}, { kind: "after", resourceVersion: "1" }, forever), 1);
    await assert.rejects(watch, { name: "ApiError", status: 410, reason: "Expired" });
  });

  void test("requests carry the expected paths, content types, token and user agent; only lists accept gzip", async (t) => {
    const seen: IncomingHttpHeaders[] = [];
    const server = await stubServer(t, cluster(), (stream, _turn, headers) => {
      seen.push(headers);
      answer(stream, 200, object);
    });
    const credentials = { kind: "token", token: "tok" } as const;
    const api = await clientFor(t, cluster(), { url: `${server.url}/behind/a/path/`, credentials, userAgent: "me/1" });
    await api.get(configMaps, target, forever);
    await api.list(configMaps, { namespace: "ns" }, { limit: 2 }, forever);
    await api.patch(configMaps, target, { kind: "strategic", body: {} }, {}, forever);
    await api.patch(configMaps, target, { kind: "merge", body: {} }, { subresource: "status" }, forever);
    const brief = seen.map((h) => [h[":method"], h[":path"], h["content-type"], h["accept-encoding"]]);
    const root = "/behind/a/path/api/v1/namespaces/ns/configmaps";
    assert.deepEqual(brief, [
      ["GET", `${root}/x`, undefined, undefined],
      ["GET", `${root}?limit=2`, undefined, "gzip"],
      ["PATCH", `${root}/x`, "application/strategic-merge-patch+json", undefined],
      ["PATCH", `${root}/x/status`, "application/merge-patch+json", undefined],
    ]);
    const common = new Set(seen.map((h) => `${h.authorization} ${h["user-agent"]} ${h.accept}`));
    assert.deepEqual(common, new Set(["Bearer tok me/1 application/json"]));
  });
}
