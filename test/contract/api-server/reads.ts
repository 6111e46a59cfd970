/** get and list. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { configMaps, namespaces, nodes, pods } from "../../../src/api/resources.ts";
import { ApiError, isNotFound } from "../../../src/ports/api-error.ts";
import { type ApiWorld, configMap, forever, pod } from "./world.ts";

const ITEMS = 520;

export function readCases(world: () => ApiWorld): void {
  void test("get returns the object with its UID and resourceVersion", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const created = await api.create(configMaps, configMap(ns, "a", { key: "value" }), forever);
    const got = await api.get(configMaps, { namespace: ns, name: "a" }, forever);
    assert.deepEqual(got, created);
    assert.match(got.metadata?.uid ?? "", /^[0-9a-f-]{36}$/);
    assert.notEqual(got.metadata?.resourceVersion ?? "", "");
  });

  void test("get of a cluster-scoped object needs no namespace", async () => {
    const got = await world().api.get(namespaces, { name: "default" }, forever);
    assert.equal(got.metadata?.name, "default");
  });

  void test("get of a missing object returns not found, and the error names the operation", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await assert.rejects(api.get(configMaps, { namespace: ns, name: "none" }, forever), (error) => {
      assert.ok(isNotFound(error) && error instanceof ApiError);
      assert.equal(error.reason, "NotFound");
      assert.match(error.message, new RegExp(`^GET configmaps ${ns}/none: `));
      return true;
    });
  });

  void test("get of an unknown kind returns not found", async () => {
    const unknown = { group: "", version: "v1", kind: "Ship", plural: "ships", namespaced: false };
    await assert.rejects(world().api.get(unknown, { name: "a" }, forever), isNotFound);
  });

  void test("a call with an aborted signal rejects with its reason", async () => {
    const reason = new Error("gave up");
    const signal = AbortSignal.abort(reason);
    await assert.rejects(world().api.get(namespaces, { name: "default" }, signal), (error) => error === reason);
    await assert.rejects(world().api.list(namespaces, {}, {}, signal), (error) => error === reason);
  });

  void test("a call whose signal aborts meanwhile rejects with its reason", async () => {
    const reason = new Error("gave up");
    const giveUp = new AbortController();
    const call = world().api.list(configMaps, {}, {}, giveUp.signal);
    giveUp.abort(reason);
    await assert.rejects(call, (error) => error === reason);
  });

  void test("list of a namespace returns only its objects, with a resourceVersion", async () => {
    const { api, namespace } = world();
    const [ns, other] = [await namespace(), await namespace()];
    for (const name of ["a", "b"]) await api.create(configMaps, configMap(ns, name), forever);
    await api.create(configMaps, configMap(other, "c"), forever);
    const page = await api.list(configMaps, { namespace: ns, fields: "metadata.name!=kube-root-ca.crt" }, {}, forever);
    assert.deepEqual(
      page.items.map((item) => item.metadata?.name),
      ["a", "b"],
    );
    assert.notEqual(page.resourceVersion, "");
    assert.equal(page.continueToken, undefined);
  });

  void test("list without a namespace covers all namespaces", async () => {
    const { api, namespace } = world();
    const all = [await namespace(), await namespace()];
    for (const ns of all) await api.create(configMaps, configMap(ns, "everywhere"), forever);
    const page = await api.list(configMaps, { fields: "metadata.name=everywhere" }, {}, forever);
    const found = new Set(page.items.map((item) => item.metadata?.namespace));
    assert.ok(all.every((ns) => found.has(ns)));
  });

  void test("an empty list has a resourceVersion", async () => {
    const page = await world().api.list(nodes, { labels: "no=such" }, {}, forever);
    assert.deepEqual([page.items, page.resourceVersion !== ""], [[], true]);
  });

  void test("list selects by labels: equality, set, existence and inequality", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    for (const [name, tier] of Object.entries({ a: "web", b: "db", c: "cache" })) {
      await api.create(configMaps, { metadata: { namespace: ns, name, labels: { tier } } }, forever);
    }
    const names = async (labels: string) =>
      (await api.list(configMaps, { namespace: ns, labels }, {}, forever)).items.map((item) => item.metadata?.name);
    assert.deepEqual(await names("tier=web"), ["a"]);
    assert.deepEqual(await names("tier in (web, db)"), ["a", "b"]);
    assert.deepEqual(await names("tier,tier!=web"), ["b", "c"]);
  });

  void test("list selects pods by spec.nodeName", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await api.create(pods, pod(ns, "here", { nodeName: "node-of-list" }), forever);
    await api.create(pods, pod(ns, "elsewhere", { nodeName: "other-node" }), forever);
    const page = await api.list(pods, { fields: "spec.nodeName=node-of-list" }, {}, forever);
    assert.deepEqual(
      page.items.map((item) => item.metadata?.name),
      ["here"],
    );
  });

  void test("an invalid selector returns 400", async () => {
    await assert.rejects(world().api.list(nodes, { labels: "a in (" }, {}, forever), { status: 400 });
    await assert.rejects(world().api.list(nodes, { fields: "spec.color=red" }, {}, forever), { status: 400 });
  });

  void test(`paging over ${ITEMS} objects returns each once, at one version`, { timeout: 60_000 }, async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const names = Array.from({ length: ITEMS }, (_, index) => `item-${String(index).padStart(4, "0")}`);
    for (let from = 0; from < names.length; from += 50) {
      const some = names.slice(from, from + 50);
      await Promise.all(some.map((name) => api.create(configMaps, configMap(ns, name), forever)));
    }
    const seen: string[] = [];
    const versions = new Set<string>();
    let pages = 0;
    let continueToken: string | undefined;
    do {
      const options = { limit: 150, ...(continueToken === undefined ? {} : { continueToken }) };
      const page = await api.list(
        configMaps,
        { namespace: ns, fields: "metadata.name!=kube-root-ca.crt" },
        options,
        forever,
      );
      seen.push(...page.items.map((item) => item.metadata?.name ?? ""));
      versions.add(page.resourceVersion);
      continueToken = page.continueToken;
      pages += 1;
      // Created during paging, so its resourceVersion is later than that of the pages.
      if (pages === 1) await api.create(configMaps, configMap(ns, "zz-late"), forever);
    } while (continueToken !== undefined);
    assert.deepEqual([seen, pages, versions.size], [names, 4, 1]);
  });

  void test("a made-up continue token returns 400", async () => {
    const call = world().api.list(configMaps, {}, { limit: 1, continueToken: "made-up" }, forever);
    await assert.rejects(call, { status: 400 });
  });
}
