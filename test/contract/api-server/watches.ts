/** watch. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { configMaps, namespaces, pods } from "../../../src/api/resources.ts";
import { ApiError, isExpired } from "../../../src/ports/api-error.ts";
import type { ApiServer, WatchEvent } from "../../../src/ports/api-server.ts";
import { type ApiWorld, brief, configMap, forever, pod, take } from "./world.ts";

/** The resourceVersion from which a watch reports all later events. */
const versionNow = async (api: ApiServer, namespace: string) =>
  (await api.list(configMaps, { namespace }, { limit: 1 }, forever)).resourceVersion;

const patchLabel = (api: ApiServer, namespace: string, name: string, tier: string) =>
  api.patch(configMaps, { namespace, name }, { kind: "merge", body: { metadata: { labels: { tier } } } }, {}, forever);

export function watchCases(world: () => ApiWorld): void {
  eventCases(world);
  selectionCases(world);
  endCases(world);
}

function eventCases(world: () => ApiWorld): void {
  void test("renewConnections loses no watch event and fails no request", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const resourceVersion = await versionNow(api, ns);
    const seen = take(api.watch(configMaps, { namespace: ns }, { kind: "after", resourceVersion }, forever), 2);
    await api.create(configMaps, configMap(ns, "a"), forever);
    api.renewConnections();
    await api.create(configMaps, configMap(ns, "b"), forever);
    assert.deepEqual(brief(await seen), ["added a", "added b"]);
  });

  void test("a watch from a resourceVersion reports added, modified and deleted in order", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const resourceVersion = await versionNow(api, ns);
    const seen = take(api.watch(configMaps, { namespace: ns }, { kind: "after", resourceVersion }, forever), 4);
    await api.create(configMaps, configMap(ns, "a"), forever);
    await api.create(configMaps, configMap(ns, "b"), forever);
    await patchLabel(api, ns, "a", "web");
    await api.delete(configMaps, { namespace: ns, name: "b" }, {}, forever);
    assert.deepEqual(brief(await seen), ["added a", "added b", "modified a", "deleted b"]);
  });

  void test("a watch that starts late reports the events since its resourceVersion", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const { metadata } = await api.create(configMaps, configMap(ns, "a"), forever);
    await patchLabel(api, ns, "a", "one");
    await patchLabel(api, ns, "a", "two");
    const start = { kind: "after", resourceVersion: metadata?.resourceVersion ?? "" } as const;
    const seen = await take(api.watch(configMaps, { namespace: ns }, start, forever), 2);
    const tiers = seen.map((event) => (event.kind === "bookmark" ? "" : event.object.metadata?.labels?.["tier"]));
    assert.deepEqual(tiers, ["one", "two"]);
  });

  void test("each event carries the whole object and the resourceVersion to resume from", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const resourceVersion = await versionNow(api, ns);
    const seen = take(api.watch(configMaps, { namespace: ns }, { kind: "after", resourceVersion }, forever), 1);
    const created = await api.create(configMaps, configMap(ns, "a", { key: "🚢" }), forever);
    const [event] = await seen;
    assert.ok(event !== undefined && event.kind === "added");
    assert.equal(event.object.data?.["key"], "🚢");
    assert.equal(event.object.metadata?.resourceVersion, created.metadata?.resourceVersion);
  });

  void test("a deleted event carries the resourceVersion of the deletion", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const created = await api.create(configMaps, configMap(ns, "a"), forever);
    const start = { kind: "after", resourceVersion: created.metadata?.resourceVersion ?? "" } as const;
    const seen = take(api.watch(configMaps, { namespace: ns }, start, forever), 1);
    await api.delete(configMaps, { namespace: ns, name: "a" }, {}, forever);
    const [event] = await seen;
    assert.ok(event !== undefined && event.kind === "deleted");
    assert.equal(event.object.metadata?.uid, created.metadata?.uid);
    assert.notEqual(event.object.metadata?.resourceVersion, created.metadata?.resourceVersion);
  });

  void test("a streaming list sends the existing objects, a bookmark, then new events", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    for (const name of ["a", "b"]) await api.create(configMaps, configMap(ns, name), forever);
    const events: WatchEvent<object>[] = [];
    const selection = { namespace: ns, fields: "metadata.name!=kube-root-ca.crt" };
    for await (const event of api.watch(configMaps, selection, { kind: "initialEvents" }, forever)) {
      events.push(event);
      if (event.kind === "bookmark" && event.initialEventsEnd) {
        assert.notEqual(event.resourceVersion, "");
        await api.delete(configMaps, { namespace: ns, name: "a" }, {}, forever);
      }
      if (event.kind === "deleted") break;
    }
    const names = brief(events);
    assert.deepEqual(
      [names.slice(0, 2).sort(), names.slice(2)],
      [
        ["added a", "added b"],
        ["bookmark", "deleted a"],
      ],
    );
  });

  void test("an empty streaming list sends the bookmark", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    for await (const event of api.watch(pods, { namespace: ns }, { kind: "initialEvents" }, forever)) {
      assert.ok(event.kind === "bookmark" && event.initialEventsEnd);
      break;
    }
  });

  void test("a streaming list includes an object created just before it", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    for (let round = 0; round < 10; round += 1) {
      await api.create(configMaps, configMap(ns, `r${round}`), forever);
      const names = new Set<string | undefined>();
      for await (const event of api.watch(configMaps, { namespace: ns }, { kind: "initialEvents" }, forever)) {
        if (event.kind === "bookmark") break;
        names.add(event.object.metadata?.name);
      }
      assert.ok(names.has(`r${round}`));
    }
  });
}

function selectionCases(world: () => ApiWorld): void {
  void test("an object is deleted for a watch when it stops matching the labels, and added when it matches again", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await api.create(configMaps, { metadata: { namespace: ns, name: "a", labels: { tier: "web" } } }, forever);
    const resourceVersion = await versionNow(api, ns);
    const selection = { namespace: ns, labels: "tier=web" };
    const seen = take(api.watch(configMaps, selection, { kind: "after", resourceVersion }, forever), 3);
    await patchLabel(api, ns, "a", "db");
    await api.create(configMaps, configMap(ns, "unseen"), forever);
    await patchLabel(api, ns, "a", "web");
    await api.delete(configMaps, { namespace: ns, name: "a" }, {}, forever);
    assert.deepEqual(brief(await seen), ["deleted a", "added a", "deleted a"]);
  });

  void test("a watch by name reports only that object", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const resourceVersion = await versionNow(api, ns);
    const selection = { namespace: ns, fields: "metadata.name=wanted" };
    const seen = take(api.watch(configMaps, selection, { kind: "after", resourceVersion }, forever), 2);
    for (const name of ["other", "wanted"]) await api.create(configMaps, configMap(ns, name), forever);
    for (const name of ["other", "wanted"]) await patchLabel(api, ns, name, "x");
    assert.deepEqual(brief(await seen), ["added wanted", "modified wanted"]);
  });

  void test("a watch by spec.nodeName reports only pods bound to that node", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const { resourceVersion } = await api.list(pods, {}, {}, forever);
    const selection = { fields: "spec.nodeName=node-of-watch" };
    const seen = take(api.watch(pods, selection, { kind: "after", resourceVersion }, forever), 1);
    await api.create(pods, pod(ns, "elsewhere", { nodeName: "other" }), forever);
    await api.create(pods, pod(ns, "here", { nodeName: "node-of-watch" }), forever);
    assert.deepEqual(brief(await seen), ["added here"]);
  });

  void test("a watch of one namespace reports no events of another", async () => {
    const { api, namespace } = world();
    const [ns, other] = [await namespace(), await namespace()];
    const resourceVersion = await versionNow(api, ns);
    const seen = take(api.watch(configMaps, { namespace: ns }, { kind: "after", resourceVersion }, forever), 1);
    await api.create(configMaps, configMap(other, "there"), forever);
    await api.create(configMaps, configMap(ns, "here"), forever);
    assert.deepEqual(brief(await seen), ["added here"]);
  });
}

function endCases(world: () => ApiWorld): void {
  void test("a watch from a compacted resourceVersion fails as expired, and a new list recovers", async () => {
    const { api, namespace, forgetHistory } = world();
    const ns = await namespace();
    const resourceVersion = await versionNow(api, ns);
    await api.create(configMaps, configMap(ns, "a"), forever);
    await forgetHistory();
    const watch = take(api.watch(configMaps, { namespace: ns }, { kind: "after", resourceVersion }, forever), 1);
    await assert.rejects(watch, isExpired);
    const fresh = { kind: "after", resourceVersion: await versionNow(api, ns) } as const;
    const seen = take(api.watch(configMaps, { namespace: ns }, fresh, forever), 1);
    await api.create(configMaps, configMap(ns, "b"), forever);
    assert.deepEqual(brief(await seen), ["added b"]);
  });

  void test("an invalid resourceVersion is rejected, but not as expired", async () => {
    const { api } = world();
    const watch = take(api.watch(namespaces, {}, { kind: "after", resourceVersion: "yesterday" }, forever), 1);
    await assert.rejects(watch, (error) => error instanceof ApiError && !isExpired(error));
  });

  void test("a watch of an unknown kind returns 404", async () => {
    const unknown = { group: "", version: "v1", kind: "Ship", plural: "ships", namespaced: false };
    await assert.rejects(take(world().api.watch(unknown, {}, { kind: "initialEvents" }, forever), 1), { status: 404 });
  });

  void test("an idle watch rejects with the signal's reason on abort", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const reason = new Error("gave up");
    const giveUp = new AbortController();
    const start = { kind: "after", resourceVersion: await versionNow(api, ns) } as const;
    const watch = take(api.watch(configMaps, { namespace: ns }, start, giveUp.signal), 1);
    await setTimeout(200);
    giveUp.abort(reason);
    await assert.rejects(watch, (error) => error === reason);
  });

  void test("an abort before or while a watch opens rejects with the signal's reason", async () => {
    const { api } = world();
    const reason = new Error("gave up");
    const start = { kind: "initialEvents" } as const;
    await assert.rejects(take(api.watch(namespaces, {}, start, AbortSignal.abort(reason)), 1), (e) => e === reason);
    const giveUp = new AbortController();
    const watch = take(api.watch(namespaces, {}, start, giveUp.signal), 1);
    giveUp.abort(reason);
    await assert.rejects(watch, (error) => error === reason);
  });

  void test("an abort between two events rejects before the next event", async () => {
    const { api } = world();
    const reason = new Error("gave up");
    const giveUp = new AbortController();
    const seen: string[] = [];
    const read = async () => {
      for await (const event of api.watch(namespaces, {}, { kind: "initialEvents" }, giveUp.signal)) {
        seen.push(event.kind);
        giveUp.abort(reason);
      }
    };
    await assert.rejects(read(), (error) => error === reason);
    assert.equal(seen.length, 1);
  });

  void test("leaving the loop ends the watch, and a new watch resumes from the last event", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const start = { kind: "after", resourceVersion: await versionNow(api, ns) } as const;
    const first = take(api.watch(configMaps, { namespace: ns }, start, forever), 1);
    await api.create(configMaps, configMap(ns, "a"), forever);
    const [event] = await first;
    assert.ok(event !== undefined && event.kind === "added");
    await api.create(configMaps, configMap(ns, "b"), forever);
    const next = { kind: "after", resourceVersion: event.object.metadata?.resourceVersion ?? "" } as const;
    assert.deepEqual(brief(await take(api.watch(configMaps, { namespace: ns }, next, forever), 1)), ["added b"]);
  });
}
