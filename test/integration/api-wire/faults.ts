/** Network faults between the API client and the server. Each test has its own proxy, so all tests run concurrently. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { ConfigMap } from "../../../src/api/gen/core-v1.ts";
import { configMaps, namespaces } from "../../../src/api/resources.ts";
import { startInformer } from "../../../src/concurrency/informer.ts";
import { isNotFound } from "../../../src/ports/api-error.ts";
import type { WatchEvent } from "../../../src/ports/api-server.ts";
import { hostClock } from "../../../src/wire/host/clock.ts";
import { hostRandom } from "../../../src/wire/host/random.ts";
import type { KubeApi } from "../../../src/wire/kube-api/client.ts";
import type { Faults } from "../../cluster/tcp-proxy.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { configMap, take } from "../../contract/api-server/world.ts";
import { figure } from "../../figures.ts";
import { newNamespace } from "../api-world.ts";
import { assertUnreachable, type ClusterOf, clientFor, forever, proxyFor, timed } from "./world.ts";

const anything = (api: KubeApi) => api.get(namespaces, { name: "default" }, forever);
const silent: Faults = { toServer: { kind: "silent" }, toClient: { kind: "silent" } };

/** Opens a watch and resolves when it is open; `ended` is the outcome of the watch. */
async function openWatch(api: KubeApi, namespace: string, onEvent: (event: WatchEvent<ConfigMap>) => void = () => {}) {
  const opened = Promise.withResolvers<void>();
  const ended = timed(async () => {
    for await (const event of api.watch(configMaps, { namespace }, { kind: "initialEvents" }, forever)) {
      if (event.kind === "bookmark" && event.initialEventsEnd) opened.resolve();
      onEvent(event);
    }
  });
  await opened.promise;
  return { ended };
}

export function faultCases(cluster: ClusterOf): void {
  silenceCases(cluster);
  renewalCases(cluster);
  cutCases(cluster);
  slowCases(cluster);
  informerCases(cluster);
}

function silenceCases(cluster: ClusterOf): void {
  const halfOpen: Readonly<Record<string, Faults>> = {
    "both ways": silent,
    "to us": { toClient: { kind: "silent" } },
    "to the server": { toServer: { kind: "silent" } },
  };
  for (const [way, faults] of Object.entries(halfOpen)) {
    void test(`a watch fails within 30 s when its connection goes silent ${way}`, async (t) => {
      const proxy = await proxyFor(t, cluster());
      const api = await clientFor(t, cluster(), { url: proxy.url });
      const ns = await newNamespace(api);
      const { ended } = await openWatch(api, ns);
      // The worst moment: right after the last data on the connection.
      await anything(api);
      proxy.now(faults);
      const { tookMs } = await timed(() => ended);
      figure(`half-open connection (${way}) found after`, Math.round(tookMs), "ms");
      assertUnreachable((await ended).outcome, { mayHaveHappened: true });
      assert.ok(tookMs < 30_000, `${tookMs} ms`);
      await anything(api);
      assert.equal(proxy.accepted, 2);
    });
  }

  void test("a request on a silent connection fails at its deadline, and the next one opens a new connection at once", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url, requestLimitMs: 2000 });
    await anything(api);
    proxy.now(silent);
    const { tookMs, outcome } = await timed(() => anything(api));
    assertUnreachable(outcome, { mayHaveHappened: true });
    assert.ok(tookMs > 1950 && tookMs < 4000, `${tookMs} ms`);
    const next = await timed(() => anything(api));
    assert.ok(!(next.outcome instanceof Error) && next.tookMs < 1900, `${next.tookMs} ms`);
    await waitUntil("the silent connection to be given up", 15_000, () => Promise.resolve(api.sessionsOpen === 1));
  });

  void test("a connection without a handshake reply times out, and nothing was sent", async (t) => {
    const proxy = await proxyFor(t, cluster());
    proxy.next(silent);
    const api = await clientFor(t, cluster(), { url: proxy.url, connectLimitMs: 1000 });
    const { tookMs, outcome } = await timed(() => anything(api));
    assertUnreachable(outcome, { mayHaveHappened: false });
    assert.ok(tookMs > 950 && tookMs < 4000, `${tookMs} ms`);
    proxy.next({});
    await anything(api);
  });

  void test("a request that waits for a connection fails at its own deadline", async (t) => {
    const proxy = await proxyFor(t, cluster());
    proxy.next(silent);
    const api = await clientFor(t, cluster(), { url: proxy.url, requestLimitMs: 700 });
    const { tookMs, outcome } = await timed(() => anything(api));
    assertUnreachable(outcome, { mayHaveHappened: false });
    assert.ok(tookMs > 650 && tookMs < 4000, `${tookMs} ms`);
  });

  void test("a watch survives silence that is shorter than the limit, on the same connection", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const ns = await newNamespace(api);
    const seen: string[] = [];
    await openWatch(api, ns, (event) => seen.push(event.kind));
    proxy.now(silent);
    const late = api.create(configMaps, configMap(ns, "late"), forever);
    await setTimeout(4000);
    proxy.now({});
    await late;
    await waitUntil("the watch to see it", 5000, () => Promise.resolve(seen.includes("added")));
    assert.equal(proxy.accepted, 1);
  });
}

function renewalCases(cluster: ClusterOf): void {
  void test("[1.14] after renewConnections, requests use a new connection and open watches continue on the old one", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const ns = await newNamespace(api);
    const seen: string[] = [];
    await openWatch(api, ns, (event) => seen.push(event.kind));
    assert.equal(proxy.accepted, 1);
    api.renewConnections();
    await api.create(configMaps, configMap(ns, "after"), forever);
    await waitUntil("the watch to see it", 5000, () => Promise.resolve(seen.includes("added")));
    assert.deepEqual([proxy.accepted, api.sessionsOpen], [2, 2]);
    // The second connection has no open stream: it closes at once, and a third replaces it.
    api.renewConnections();
    await anything(api);
    assert.deepEqual([proxy.accepted, api.sessionsOpen, api.streamsOpen], [3, 2, 1]);
  });

  void test("[1.14] after renewConnections, a hung connection delays only the requests already on it", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url, requestLimitMs: 4000 });
    await anything(api);
    proxy.now(silent);
    const hung = timed(() => anything(api));
    await setTimeout(300);
    api.renewConnections();
    const next = await timed(() => anything(api));
    assert.ok(!(next.outcome instanceof Error) && next.tookMs < 2000, `${next.tookMs} ms`);
    assertUnreachable((await hung).outcome, { mayHaveHappened: true });
    await waitUntil("the old connection to go", 15_000, () => Promise.resolve(api.sessionsOpen === 1));
  });

  void test("[1.14] renewConnections keeps a connection that is still being opened, and waiting requests use it", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const first = anything(api);
    await setTimeout(0);
    api.renewConnections();
    await first;
    assert.equal(proxy.accepted, 1);
  });
}

function cutCases(cluster: ClusterOf): void {
  void test("a refused connection fails at once with nothing sent, and requests succeed once the server listens again", async (t) => {
    const proxy = await proxyFor(t, cluster());
    await proxy.refuse();
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const { tookMs, outcome } = await timed(() => anything(api));
    assertUnreachable(outcome, { mayHaveHappened: false });
    assert.ok(tookMs < 3000, `${tookMs} ms`);
    await proxy.listen();
    await anything(api);
  });

  for (const by of ["reset", "end"] as const) {
    void test(`a response cut in the middle by ${by} fails as unreachable, however much of it arrived`, async (t) => {
      const proxy = await proxyFor(t, cluster());
      const api = await clientFor(t, cluster(), { url: proxy.url });
      const ns = await newNamespace(api);
      await api.create(configMaps, configMap(ns, "large", { text: "x".repeat(900_000) }), forever);
      proxy.now({ toClient: { kind: "truncate", afterBytes: 300_000, by } });
      const { outcome } = await timed(() => api.get(configMaps, { namespace: ns, name: "large" }, forever));
      assertUnreachable(outcome, { mayHaveHappened: true });
      assert.equal(
        (await api.get(configMaps, { namespace: ns, name: "large" }, forever)).data?.["text"]?.length,
        900_000,
      );
    });

    void test(`a compressed list cut in the middle by ${by} fails as unreachable`, async (t) => {
      const proxy = await proxyFor(t, cluster());
      const api = await clientFor(t, cluster(), { url: proxy.url });
      const ns = await newNamespace(api);
      const text = Array.from({ length: 20_000 }, (_, index) => index.toString(36)).join(" ");
      for (const name of ["a", "b", "c", "d"]) await api.create(configMaps, configMap(ns, name, { text }), forever);
      proxy.now({ toClient: { kind: "truncate", afterBytes: 20_000, by } });
      const { outcome } = await timed(() => api.list(configMaps, { namespace: ns }, {}, forever));
      assertUnreachable(outcome, { mayHaveHappened: true });
    });

    void test(`a watch cut in the middle of an event by ${by} fails after the last complete event`, async (t) => {
      const proxy = await proxyFor(t, cluster());
      const api = await clientFor(t, cluster(), { url: proxy.url });
      const direct = await clientFor(t, cluster());
      const ns = await newNamespace(direct);
      const seen: string[] = [];
      const { ended } = await openWatch(api, ns, (event) => {
        if (event.kind === "added") seen.push(event.object.metadata?.name ?? "");
      });
      await direct.create(configMaps, configMap(ns, "whole"), forever);
      await waitUntil("the first event", 5000, () => Promise.resolve(seen.length === 1));
      proxy.now({ toClient: { kind: "truncate", afterBytes: 50_000, by } });
      await direct.create(configMaps, configMap(ns, "torn", { text: "x".repeat(200_000) }), forever);
      assertUnreachable((await ended).outcome, { mayHaveHappened: true });
      assert.deepEqual(seen, ["whole"]);
    });
  }

  void test("a request whose response is lost takes effect and fails with mayHaveHappened", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const ns = await newNamespace(api);
    proxy.now({ toClient: { kind: "truncate", afterBytes: 0, by: "reset" } });
    const { outcome } = await timed(() => api.create(configMaps, configMap(ns, "a"), forever));
    assertUnreachable(outcome, { mayHaveHappened: true });
    await api.get(configMaps, { namespace: ns, name: "a" }, forever);
  });

  void test("a request that is lost takes no effect and fails with mayHaveHappened", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const ns = await newNamespace(api);
    proxy.now({ toServer: { kind: "truncate", afterBytes: 0, by: "reset" } });
    const { outcome } = await timed(() => api.create(configMaps, configMap(ns, "a"), forever));
    assertUnreachable(outcome, { mayHaveHappened: true });
    await assert.rejects(api.get(configMaps, { namespace: ns, name: "a" }, forever), isNotFound);
  });

  void test("a broken connection fails all of its streams and is not reused", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const ns = await newNamespace(api);
    const watches = await Promise.all(Array.from({ length: 20 }, () => openWatch(api, ns)));
    proxy.cut("reset");
    for (const { ended } of watches) assertUnreachable((await ended).outcome, { mayHaveHappened: true });
    await Promise.all(Array.from({ length: 20 }, () => anything(api)));
    assert.deepEqual([proxy.accepted, api.sessionsOpen], [2, 1]);
  });
}

function slowCases(cluster: ClusterOf): void {
  void test("a connection with a delay of 250 ms slows requests down and fails none", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const delay = { kind: "delay", delayMs: 250 } as const;
    proxy.next({ toServer: delay, toClient: delay });
    const api = await clientFor(t, cluster(), { url: proxy.url });
    await anything(api);
    const { tookMs, outcome } = await timed(() => Promise.all(Array.from({ length: 20 }, () => anything(api))));
    assert.ok(!(outcome instanceof Error));
    assert.ok(tookMs > 490 && tookMs < 8000, `${tookMs} ms`);
  });

  void test("requests, lists and watches stay intact when they arrive one byte at a time", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const piecemeal = { kind: "pieces", bytes: 1 } as const;
    proxy.next({ toServer: piecemeal, toClient: piecemeal });
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const ns = await newNamespace(api);
    const events = take(api.watch(configMaps, { namespace: ns }, { kind: "initialEvents" }, forever), 2);
    for (const name of ["a", "b"])
      await api.create(configMaps, configMap(ns, name, { text: "λόγος 🚢".repeat(50) }), forever);
    const texts = (await events).map((event) => (event.kind === "added" ? event.object.data?.["text"] : undefined));
    const { items } = await api.list(configMaps, { namespace: ns }, {}, forever);
    const wanted = ["λόγος 🚢".repeat(50), "λόγος 🚢".repeat(50)];
    assert.deepEqual([texts, items.map((item) => item.data?.["text"])], [wanted, wanted]);
  });
}

function informerCases(cluster: ClusterOf): void {
  const informerOver = (api: KubeApi, namespace: string) => {
    const stop = new AbortController();
    const troubles: string[] = [];
    const informer = startInformer(
      {
        api,
        resource: configMaps,
        selection: { namespace },
        clock: hostClock,
        random: hostRandom,
        onTrouble: (detail) => troubles.push(detail),
      },
      stop.signal,
    );
    const names = () =>
      [...informer.store.value.objects.keys()]
        .map((key) => key.split("/")[1])
        .sort((a, b) => ((a ?? "") < (b ?? "") ? -1 : 1));
    return { informer, stop, troubles, names };
  };

  void test("an informer recovers after a cut without losing or inventing an object", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const direct = await clientFor(t, cluster());
    const ns = await newNamespace(direct);
    for (const name of ["stays", "goes"]) await direct.create(configMaps, configMap(ns, name), forever);
    const { informer, stop, names } = informerOver(api, ns);
    await waitUntil("the first list", 5000, () => Promise.resolve(informer.store.value.synced));
    assert.deepEqual(names(), ["goes", "stays"]);
    await proxy.refuse();
    proxy.cut("reset");
    await direct.delete(configMaps, { namespace: ns, name: "goes" }, {}, forever);
    await direct.create(configMaps, configMap(ns, "comes"), forever);
    await setTimeout(1500);
    assert.deepEqual(names(), ["goes", "stays"]); // The store keeps its objects while the server is unreachable.
    await proxy.listen();
    const { tookMs } = await timed(() =>
      waitUntil("the informer to be right", 10_000, () => Promise.resolve(names().join() === "comes,stays")),
    );
    figure("informer right after the link came back", Math.round(tookMs), "ms");
    stop.abort();
    await informer.ended;
  });

  void test("an informer recovers within 32 s when its connection goes silent", async (t) => {
    const proxy = await proxyFor(t, cluster());
    const api = await clientFor(t, cluster(), { url: proxy.url });
    const direct = await clientFor(t, cluster());
    const ns = await newNamespace(direct);
    const { informer, stop, troubles, names } = informerOver(api, ns);
    await waitUntil("the first list", 5000, () => Promise.resolve(informer.store.value.synced));
    proxy.now(silent);
    await direct.create(configMaps, configMap(ns, "unheard"), forever);
    const { tookMs } = await timed(() =>
      waitUntil("the informer to hear of it", 32_000, () => Promise.resolve(names().includes("unheard"))),
    );
    figure("informer right after its connection went silent", Math.round(tookMs), "ms");
    assert.equal(troubles.length, 1);
    stop.abort();
    await informer.ended;
  });
}
