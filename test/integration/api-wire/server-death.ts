/** The API server stops, dies and restarts. The tests run one after the other because there is one server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { configMaps, namespaces } from "../../../src/api/resources.ts";
import { startInformer } from "../../../src/concurrency/informer.ts";
import { ApiUnreachableError, isExpired } from "../../../src/ports/api-error.ts";
import { hostClock } from "../../../src/wire/host/clock.ts";
import { hostRandom } from "../../../src/wire/host/random.ts";
import type { KubeApi } from "../../../src/wire/kube-api/client.ts";
import { command } from "../../cluster/command.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { configMap, take } from "../../contract/api-server/world.ts";
import { newNamespace } from "../api-world.ts";
import { assertUnreachable, type ClusterOf, clientFor, forever, timed } from "./world.ts";

const anything = (api: KubeApi) => api.get(namespaces, { name: "default" }, forever);

export function serverDeathCases(cluster: ClusterOf): void {
  stopCases(cluster);
  deathCases(cluster);
  forgettingCases(cluster);
}

function stopCases(cluster: ClusterOf): void {
  void test("requests to a paused server fail at their deadline, and succeed after it resumes", async (t) => {
    const server = cluster().component("kube-apiserver");
    const api = await clientFor(t, cluster(), { requestLimitMs: 1000 });
    const fresh = await clientFor(t, cluster(), { requestLimitMs: 1000 });
    await anything(api);
    await server.pause();
    try {
      const [old, unconnected] = await Promise.all([timed(() => anything(api)), timed(() => anything(fresh))]);
      assertUnreachable(old.outcome, { mayHaveHappened: true });
      assertUnreachable(unconnected.outcome, { mayHaveHappened: false });
      for (const { tookMs } of [old, unconnected]) assert.ok(tookMs > 980 && tookMs < 4000, `${tookMs} ms`);
    } finally {
      await server.resume();
    }
    await waitUntil("the server to answer again", 5000, async () => (await anything(api)) !== undefined);
  });

  void test("a watch survives a server that is paused for three seconds", async (t) => {
    const server = cluster().component("kube-apiserver");
    const api = await clientFor(t, cluster());
    const ns = await newNamespace(api);
    const { resourceVersion } = await api.list(configMaps, { namespace: ns }, {}, forever);
    const seen = take(api.watch(configMaps, { namespace: ns }, { kind: "after", resourceVersion }, forever), 1);
    await setTimeout(200);
    await server.pause();
    await setTimeout(3000);
    await server.resume();
    await api.create(configMaps, configMap(ns, "a"), forever);
    assert.equal((await seen)[0]?.kind, "added");
    assert.equal(api.sessionsOpen, 1);
  });
}

function deathCases(cluster: ClusterOf): void {
  void test("a request fails at once with mayHaveHappened when the server is killed", async (t) => {
    const server = cluster().component("kube-apiserver");
    const api = await clientFor(t, cluster());
    await anything(api);
    await server.pause(); // So that the request is certainly in flight.
    const call = timed(() => anything(api));
    await setTimeout(200);
    await server.kill();
    const { tookMs, outcome } = await call;
    assertUnreachable(outcome, { mayHaveHappened: true });
    assert.ok(tookMs < 5000, `${tookMs} ms`);
    const { outcome: whileDown } = await timed(() => anything(api));
    assertUnreachable(whileDown, { mayHaveHappened: false });
    await server.restart();
    await anything(api);
  });

  void test("a watch fails at once when the server is killed, and another works after the restart", async (t) => {
    const server = cluster().component("kube-apiserver");
    const api = await clientFor(t, cluster());
    const ns = await newNamespace(api);
    const { resourceVersion } = await api.list(configMaps, { namespace: ns }, {}, forever);
    const start = { kind: "after", resourceVersion } as const;
    const watch = timed(() => take(api.watch(configMaps, { namespace: ns }, start, forever), 1));
    await setTimeout(200);
    const killed = timed(() => watch);
    await server.kill();
    assertUnreachable((await watch).outcome, { mayHaveHappened: true });
    assert.ok((await killed).tookMs < 5000);
    await server.restart();
    await api.create(configMaps, configMap(ns, "a"), forever);
    const again = await take(api.watch(configMaps, { namespace: ns }, { kind: "initialEvents" }, forever), 1);
    assert.equal(again[0]?.kind, "added");
  });

  void test("after GOAWAY open watches continue and are still pinged, and new requests avoid the connection", async (t) => {
    const server = cluster().component("kube-apiserver");
    const api = await clientFor(t, cluster(), { pingEveryMs: 1000, pingLimitMs: 1000 });
    const ns = await newNamespace(api);
    const opened = Promise.withResolvers<void>();
    const watch = timed(async () => {
      for await (const event of api.watch(configMaps, { namespace: ns }, { kind: "initialEvents" }, forever)) {
        if (event.kind === "bookmark") opened.resolve();
      }
    });
    await opened.promise;
    process.kill(server.pid, "SIGTERM"); // Sends GOAWAY on every connection, then waits for open streams.
    await waitUntil("the server to refuse connections", 5000, async () => {
      const { outcome } = await timed(() => anything(api));
      return outcome instanceof ApiUnreachableError && !outcome.mayHaveHappened;
    });
    await setTimeout(4000); // Twice as long as a dead connection survives.
    assert.equal(api.streamsOpen, 1);
    await server.pause(); // Now the connection is silent.
    const { tookMs } = await timed(() => watch);
    assertUnreachable((await watch).outcome, { mayHaveHappened: true });
    assert.ok(tookMs < 6000, `${tookMs} ms`);
    await server.restart();
    await anything(api);
    assert.equal(api.sessionsOpen, 1);
  });
}

function forgettingCases(cluster: ClusterOf): void {
  void test("an informer recovers after the server is killed and restarted", async (t) => {
    const server = cluster().component("kube-apiserver");
    const api = await clientFor(t, cluster());
    const ns = await newNamespace(api);
    await api.create(configMaps, configMap(ns, "before"), forever);
    const stop = new AbortController();
    const troubles: string[] = [];
    const options = { api, resource: configMaps, selection: { namespace: ns }, clock: hostClock, random: hostRandom };
    const informer = startInformer({ ...options, onTrouble: (detail) => troubles.push(detail) }, stop.signal);
    const has = (name: string) => informer.store.value.objects.has(`${ns}/${name}`);
    await waitUntil("the first list", 5000, () => Promise.resolve(has("before")));
    await server.kill();
    await server.restart();
    await api.create(configMaps, configMap(ns, "after"), forever);
    await api.delete(configMaps, { namespace: ns, name: "before" }, {}, forever);
    await waitUntil("the informer to be right", 20_000, () => Promise.resolve(has("after") && !has("before")));
    assert.ok(troubles.length > 0);
    stop.abort();
    await informer.ended;
  });

  void test("a list fails as expired when its version is compacted between two pages", async (t) => {
    const api = await clientFor(t, cluster());
    const ns = await newNamespace(api);
    for (const name of ["a", "b", "c"]) await api.create(configMaps, configMap(ns, name), forever);
    const first = await api.list(configMaps, { namespace: ns }, { limit: 1 }, forever);
    const last = await api.create(configMaps, configMap(ns, "d"), forever);
    // The server caches recent pages. After a restart it must query etcd, which has compacted them.
    await compact(cluster().component("etcd").pid, Number(last.metadata?.resourceVersion));
    await cluster().component("kube-apiserver").restart();
    const options = { limit: 1, continueToken: first.continueToken ?? "" };
    await assert.rejects(api.list(configMaps, { namespace: ns }, options, forever), isExpired);
  });
}

/** Compacts through etcd's HTTP gateway, which listens only inside the cluster's network namespace. */
async function compact(etcdPid: number, revision: number): Promise<void> {
  const body = JSON.stringify({ revision, physical: true });
  const url = "http://127.0.0.1:2379/v3/kv/compaction";
  await command("nsenter", ["-t", String(etcdPid), "--net", "curl", "-sSf", "-X", "POST", "-d", body, url]);
}
