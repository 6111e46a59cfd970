/** Many concurrent requests: connections, rate limits and fairness. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import * as resources from "../../../src/api/resources.ts";
import { ApiError } from "../../../src/ports/api-error.ts";
import type { ApiObject, Resource } from "../../../src/ports/api-server.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { configMap } from "../../contract/api-server/world.ts";
import { figure } from "../../figures.ts";
import { newNamespace } from "../api-world.ts";
import { assertUnreachable, type ClusterOf, clientFor, forever, proxyFor, timed, whoAmI } from "./world.ts";

const { configMaps, namespaces, runtimeClasses } = resources;

export function loadCases(cluster: ClusterOf): void {
  requestCases(cluster);
  watchCases(cluster);
  turnCases(cluster);
}

function requestCases(cluster: ClusterOf): void {
  void test("every known resource is served at its path", async (t) => {
    const api = await clientFor(t, cluster());
    const all: readonly Resource<ApiObject>[] = Object.values(resources);
    const outcomes = await Promise.all(
      all.map(async (resource) => {
        const { outcome } = await timed(() => api.list(resource, {}, { limit: 1 }, forever));
        // Reviews can be created but not listed (405); their path is known all the same.
        const served = !(outcome instanceof Error) || (outcome instanceof ApiError && outcome.status === 405);
        return served ? [] : [resource.plural];
      }),
    );
    assert.deepEqual(outcomes.flat(), []);
  });

  void test("150 concurrent requests use two connections at a limit of 100 per connection", async (t) => {
    const proxy = await proxyFor(t, cluster());
    proxy.next({ toServer: { kind: "delay", delayMs: 200 } });
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const answers = await Promise.all(
      Array.from({ length: 150 }, () => api.get(namespaces, { name: "default" }, forever)),
    );
    assert.equal(answers.length, 150);
    assert.equal(proxy.accepted, 2);
  });

  void test("a long list arrives compressed", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const ns = await newNamespace(api);
    const text = "the same words again and again ".repeat(2000);
    for (let index = 0; index < 10; index += 1) {
      await api.create(configMaps, configMap(ns, `c${index}`, { text }), forever);
    }
    const before = proxy.connections[0]?.toClient.bytes ?? 0;
    const page = await api.list(configMaps, { namespace: ns }, {}, forever);
    const bytes = (proxy.connections[0]?.toClient.bytes ?? 0) - before;
    assert.equal(page.items.filter((item) => item.data?.["text"] === text).length, 10);
    assert.ok(bytes < 60_000, `${bytes} bytes for a list of 620 KB`);
  });

  void test("the server's audit log has the client's user agent", async (t) => {
    const userAgent = "deckhand-test/0.0 (wire)";
    const api = await clientFor(t, cluster(), { userAgent });
    await api.get(namespaces, { name: "default" }, forever);
    await waitUntil("the audit log", 5000, async () =>
      (await readFile(cluster().api.auditLog, "utf8")).includes(userAgent),
    );
  });
}

function watchCases(cluster: ClusterOf): void {
  void test("250 watches share three connections, and each receives every event", async (t) => {
    const api = await clientFor(t, cluster());
    const ns = await newNamespace(api);
    const stop = new AbortController();
    let open = 0;
    let reported = 0;
    const watches = Array.from({ length: 250 }, async () => {
      for await (const event of api.watch(configMaps, { namespace: ns }, { kind: "initialEvents" }, stop.signal)) {
        if (event.kind === "bookmark" && event.initialEventsEnd) open += 1;
        if (event.kind === "added") reported += 1;
      }
    });
    const ended = Promise.allSettled(watches);
    await waitUntil("250 watches to be open", 20_000, () => Promise.resolve(open === 250));
    await api.create(configMaps, configMap(ns, "a"), forever);
    await waitUntil("all of them to be told", 5000, () => Promise.resolve(reported === 250));
    assert.equal(api.sessionsOpen, 3);
    stop.abort();
    await ended;
    await waitUntil("all streams to be gone", 2000, () => Promise.resolve(api.streamsOpen === 0));
  });

  void test("a watch whose iteration stops or whose signal aborts ends on the server, too", async (t) => {
    const api = await clientFor(t, cluster());
    const serverSide = async () => {
      const metrics = await cluster().kubectl("get", "--raw", "/metrics");
      const lines = metrics
        .split("\n")
        .filter((line) => /^apiserver_longrunning_requests.*runtimeclasses.*WATCH/.test(line));
      return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    };
    const before = await serverSide();
    const stop = new AbortController();
    let open = 0;
    const stay = Array.from({ length: 5 }, async () => {
      for await (const event of api.watch(runtimeClasses, {}, { kind: "initialEvents" }, stop.signal)) {
        if (event.kind === "bookmark") open += 1;
      }
    });
    const ended = Promise.allSettled(stay);
    await waitUntil("the watches to be open", 5000, () => Promise.resolve(open === 5));
    assert.equal(await serverSide(), before + 5);
    for await (const _ of api.watch(runtimeClasses, {}, { kind: "initialEvents" }, forever)) break;
    stop.abort();
    await ended;
    await waitUntil("the server to let go of them", 5000, async () => (await serverSide()) === before);
  });

  void test("a watch that the server times out ends without an error, after a bookmark", async (t) => {
    const api = await clientFor(t, cluster(), { watchSeconds: { min: 5, max: 5 } });
    const [ns, elsewhere] = [await newNamespace(api), await newNamespace(api)];
    const { resourceVersion } = await api.list(configMaps, { namespace: ns }, {}, forever);
    const kinds: string[] = [];
    const ended = timed(async () => {
      const start = { kind: "after", resourceVersion } as const;
      for await (const event of api.watch(configMaps, { namespace: ns }, start, forever)) kinds.push(event.kind);
    });
    // This watch does not select the object, but the creation advances the resourceVersion of its bookmark.
    await api.create(configMaps, configMap(elsewhere, "a"), forever);
    const { tookMs, outcome } = await ended;
    assert.equal(outcome, undefined);
    assert.ok(tookMs > 4500 && tookMs < 15_000, `${tookMs} ms`);
    assert.deepEqual(new Set(kinds), new Set(["bookmark"]));
  });

  void test("a slow reader receives every event", async (t) => {
    const api = await clientFor(t, cluster());
    const ns = await newNamespace(api);
    const { resourceVersion } = await api.list(configMaps, { namespace: ns }, {}, forever);
    const wanted = Array.from({ length: 20 }, (_, index) => `c${index}`);
    const opened = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const seen: string[] = [];
    const read = (async () => {
      for await (const event of api.watch(configMaps, { namespace: ns }, { kind: "after", resourceVersion }, forever)) {
        if (event.kind === "added") seen.push(event.object.metadata?.name ?? "");
        opened.resolve();
        await written.promise; // Four megabytes are buffered meanwhile.
        if (seen.length === wanted.length) break;
      }
    })();
    const text = "x".repeat(200_000);
    for (const name of wanted) await api.create(configMaps, configMap(ns, name, { text }), forever);
    await opened.promise;
    written.resolve();
    await read;
    assert.deepEqual(seen, wanted);
  });
}

function turnCases(cluster: ClusterOf): void {
  void test("[1.14] 150 requests at the default 50 QPS and burst 100 take about a second", async (t) => {
    const api = await clientFor(t, cluster(), { requestsPerSecond: 50, burst: 100 });
    await whoAmI(await clientFor(t, cluster()));
    const { tookMs } = await timed(() =>
      Promise.all(Array.from({ length: 150 }, () => api.get(namespaces, { name: "default" }, forever))),
    );
    figure("150 requests at 50/s, burst 100", Math.round(tookMs), "ms");
    assert.ok(tookMs > 950 && tookMs < 4000, `${tookMs} ms`);
  });

  void test("[1.14] the queue of one client does not delay another client", async (t) => {
    const busy = await clientFor(t, cluster(), { requestsPerSecond: 20, burst: 1 });
    const heartbeats = await clientFor(t, cluster(), { requestLimitMs: 10_000 });
    const queue = Promise.allSettled(
      Array.from({ length: 100 }, () => busy.get(namespaces, { name: "default" }, forever)),
    );
    const { tookMs, outcome } = await timed(() => heartbeats.get(namespaces, { name: "default" }, forever));
    assert.ok(!(outcome instanceof Error) && tookMs < 3000, `${tookMs} ms`);
    await busy.close();
    await queue;
  });

  void test("a request's deadline includes its time in the queue, and the error says that nothing was sent", async (t) => {
    const api = await clientFor(t, cluster(), { requestsPerSecond: 0.1, burst: 1, requestLimitMs: 300 });
    await api.get(namespaces, { name: "default" }, forever);
    const { tookMs, outcome } = await timed(() => api.get(namespaces, { name: "default" }, forever));
    assert.ok(tookMs > 290 && tookMs < 3000, `${tookMs} ms`);
    assertUnreachable(outcome, { mayHaveHappened: false });
  });
}
