/** Authentication and authorization: credentials, the node's permissions, and trust in the server. */
import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { inspect } from "node:util";
import type { TokenRequest } from "../../../src/api/gen/authentication-v1.ts";
import { configMaps, nodes, pods, secrets, serviceAccounts } from "../../../src/api/resources.ts";
import { ApiUnreachableError } from "../../../src/ports/api-error.ts";
import type { ApiServer, WatchStart } from "../../../src/ports/api-server.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { configMap, pod, take } from "../../contract/api-server/world.ts";
import { identityOf, newNamespace } from "../api-world.ts";
import { type ClusterOf, clientFor, forever, proxyFor, whoAmI } from "./world.ts";

async function tokenOf(api: ApiServer, namespace: string, name: string): Promise<string> {
  const question: TokenRequest = { spec: { audiences: [], expirationSeconds: 3600 } };
  const answer = await api.ask<TokenRequest>(serviceAccounts, { namespace, name }, "token", question, forever);
  return answer.status?.token ?? "";
}

async function tokenFile(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "deckhand-token-"));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, "token");
  const write = async (token: string) => {
    await writeFile(`${path}.new`, token);
    await rename(`${path}.new`, path);
  };
  return { path, write };
}

export function identityCases(cluster: ClusterOf): void {
  tokenCases(cluster);
  nodeCases(cluster);
  swapCases(cluster);
  trustCases(cluster);
}

function tokenCases(cluster: ClusterOf): void {
  void test("a bad token fails with 401, and no part of the error contains the token", async (t) => {
    const token = "bad-token-that-must-stay-hidden";
    const api = await clientFor(t, cluster(), { credentials: { kind: "token", token } });
    await assert.rejects(api.get(nodes, { name: "x" }, forever), (error) => {
      assert.ok(!inspect(error, { depth: 10, showHidden: true }).includes(token));
      return (error as { readonly status?: number }).status === 401;
    });
  });

  void test("an anonymous client gets 403", async (t) => {
    const api = await clientFor(t, cluster(), { credentials: { kind: "anonymous" } });
    await assert.rejects(api.list(pods, {}, {}, forever), { status: 403, reason: "Forbidden" });
  });

  void test("a service account token authenticates as that service account", async (t) => {
    const admin = await clientFor(t, cluster());
    const ns = await newNamespace(admin);
    const token = await tokenOf(admin, ns, "default");
    const api = await clientFor(t, cluster(), { credentials: { kind: "token", token } });
    assert.equal(await whoAmI(api), `system:serviceaccount:${ns}:default`);
    await assert.rejects(api.list(secrets, { namespace: ns }, {}, forever), { status: 403 });
  });

  void test("a replaced token file is used within seconds, over the same connection", async (t) => {
    const admin = await clientFor(t, cluster());
    const ns = await newNamespace(admin);
    await admin.create(serviceAccounts, { metadata: { namespace: ns, name: "second" } }, forever);
    const file = await tokenFile(t);
    await file.write(await tokenOf(admin, ns, "default"));
    const api = await clientFor(t, cluster(), { credentials: { kind: "tokenFile", path: file.path } });
    assert.equal(await whoAmI(api), `system:serviceaccount:${ns}:default`);
    await file.write(await tokenOf(admin, ns, "second"));
    await setTimeout(1100);
    assert.equal(await whoAmI(api), `system:serviceaccount:${ns}:second`);
    assert.equal(api.sessionsOpen, 1);
  });

  void test("a rejected token is read again from its file for the next call", async (t) => {
    const admin = await clientFor(t, cluster());
    const ns = await newNamespace(admin);
    const file = await tokenFile(t);
    await file.write("stale");
    const api = await clientFor(t, cluster(), { credentials: { kind: "tokenFile", path: file.path } });
    await assert.rejects(whoAmI(api), { status: 401 });
    await file.write(await tokenOf(admin, ns, "default"));
    assert.equal(await whoAmI(api), `system:serviceaccount:${ns}:default`);
  });

  void test("a missing token file fails the call before anything is sent", async (t) => {
    const api = await clientFor(t, cluster(), { credentials: { kind: "tokenFile", path: "/nonexistent/token" } });
    await assert.rejects(whoAmI(api), { name: "ApiUnreachableError", mayHaveHappened: false });
  });
}

function nodeCases(cluster: ClusterOf): void {
  void test("a node may write its own Node and no other Node", async (t) => {
    const credentials = await identityOf(cluster(), "system:node:wire-n1", ["system:nodes"]);
    const api = await clientFor(t, cluster(), { credentials });
    await api.create(nodes, { metadata: { name: "wire-n1" } }, forever);
    const patch = { kind: "merge", body: { status: { nodeInfo: { machineID: "m" } } } } as const;
    await api.patch(nodes, { name: "wire-n1" }, patch, { subresource: "status" }, forever);
    const other = api.create(nodes, { metadata: { name: "wire-n2" } }, forever);
    await assert.rejects(other, { status: 403, reason: "Forbidden" });
    const taint = {
      kind: "merge",
      body: { metadata: { labels: { "node-restriction.kubernetes.io/x": "y" } } },
    } as const;
    await assert.rejects(api.patch(nodes, { name: "wire-n1" }, taint, {}, forever), { status: 403 });
  });

  void test("a node reads a Secret only while one of its pods refers to it", async (t) => {
    const admin = await clientFor(t, cluster());
    const ns = await newNamespace(admin);
    const credentials = await identityOf(cluster(), "system:node:wire-n3", ["system:nodes"]);
    const api = await clientFor(t, cluster(), { credentials });
    const where = { namespace: ns, name: "s" };
    await admin.create(secrets, { metadata: where, data: { key: "dmFsdWU=" } }, forever);
    await assert.rejects(api.get(secrets, where, forever), { status: 403 });
    const volumes = [{ name: "v", secret: { secretName: "s" } }];
    await admin.create(pods, pod(ns, "p", { nodeName: "wire-n3", volumes }), forever);
    await waitUntil("the node authorizer to know the pod", 10_000, async () => {
      await api.get(secrets, where, forever);
      return true;
    });
    const selection = { namespace: ns, fields: "metadata.name=s" };
    const [event] = await take(api.watch(secrets, selection, { kind: "initialEvents" }, forever), 1);
    assert.equal(event?.kind, "added");
    await assert.rejects(api.list(secrets, { namespace: ns }, {}, forever), { status: 403 });
  });
}

const isUnsent = (error: unknown) => error instanceof ApiUnreachableError && !error.mayHaveHappened;

function swapCases(cluster: ClusterOf): void {
  void test("replacing the certificate keeps the watch open, sends new calls as the new user, and drains the old connection", async (t) => {
    const admin = await clientFor(t, cluster());
    const ns = await newNamespace(admin);
    const credentials = await identityOf(cluster(), "alice", ["system:masters"]);
    const api = await clientFor(t, cluster(), { credentials });
    const stop = new AbortController();
    const seen: string[] = [];
    const watch = (async () => {
      for await (const event of api.watch(configMaps, { namespace: ns }, { kind: "initialEvents" }, stop.signal)) {
        seen.push(event.kind === "bookmark" ? "bookmark" : (event.object.metadata?.name ?? ""));
      }
    })();
    watch.catch(() => {});
    await waitUntil("the watch to be open", 5000, () => Promise.resolve(seen.includes("bookmark")));
    assert.equal(await whoAmI(api), "alice");
    api.replaceCredentials(await identityOf(cluster(), "bob", ["system:masters"]));
    assert.equal(await whoAmI(api), "bob");
    await api.create(configMaps, configMap(ns, "after-swap"), forever);
    await waitUntil("the old watch to see it", 5000, () => Promise.resolve(seen.includes("after-swap")));
    assert.equal(api.sessionsOpen, 2);
    stop.abort();
    await waitUntil("the old connection to end", 2000, () => Promise.resolve(api.sessionsOpen === 1));
  });

  void test("[2.2] endWatches ends watches without an error, and later watches use a new connection", async (t) => {
    const admin = await clientFor(t, cluster());
    const ns = await newNamespace(admin);
    const api = await clientFor(t, cluster(), { credentials: await identityOf(cluster(), "gina", ["system:masters"]) });
    const seen: string[] = [];
    let version = "";
    const watch = async (from: WatchStart) => {
      for await (const event of api.watch(configMaps, { namespace: ns }, from, forever)) {
        if (event.kind === "bookmark") version = event.resourceVersion;
        else seen.push(event.object.metadata?.name ?? "");
      }
    };
    const first = watch({ kind: "initialEvents" });
    await waitUntil("the watch to be open", 5000, () => Promise.resolve(version !== ""));
    api.replaceCredentials(await identityOf(cluster(), "hugo", ["system:masters"]));
    api.endWatches();
    await first;
    await waitUntil("the old connection to end", 2000, () => Promise.resolve(api.sessionsOpen === 0));
    const second = watch({ kind: "after", resourceVersion: version });
    await admin.create(configMaps, configMap(ns, "after-the-end"), forever);
    await waitUntil("the next watch to see it", 5000, () => Promise.resolve(seen.includes("after-the-end")));
    api.endWatches();
    await second;
  });

  void test("[2.1] requests sent before there are credentials wait for them, up to the request limit", async (t) => {
    const hasty = await clientFor(t, cluster(), { credentials: { kind: "awaited" }, requestLimitMs: 200 });
    await assert.rejects(hasty.list(pods, {}, {}, forever), isUnsent);
    const api = await clientFor(t, cluster(), { credentials: { kind: "awaited" } });
    const answers = Promise.all([whoAmI(api), whoAmI(api)]);
    await setTimeout(100);
    assert.equal(api.sessionsOpen, 0, "nobody is asked as nobody");
    api.replaceCredentials(await identityOf(cluster(), "ida", []));
    assert.deepEqual(await answers, ["ida", "ida"]);
  });

  void test("calls in flight while credentials are replaced all succeed", async (t) => {
    const identities = await Promise.all(
      ["carol", "dave"].map((user) => identityOf(cluster(), user, ["system:masters"])),
    );
    const api = await clientFor(t, cluster(), { credentials: identities[0] ?? { kind: "anonymous" } });
    const calls: Promise<unknown>[] = [];
    for (let round = 0; round < 20; round += 1) {
      calls.push(...Array.from({ length: 10 }, () => whoAmI(api)));
      api.replaceCredentials(identities[(round + 1) % 2] ?? { kind: "anonymous" });
      await setTimeout(round < 10 ? 50 : 3); // Some calls finish in between; others are overtaken while they connect.
    }
    assert.deepEqual(new Set(await Promise.all(calls)), new Set(["carol", "dave"]));
    assert.equal(await whoAmI(api), "carol");
    await waitUntil("the replaced connections to end", 2000, () => Promise.resolve(api.sessionsOpen === 1));
  });

  void test("replaceCredentials throws for an unreadable certificate, and the old credentials stay in use", async (t) => {
    const api = await clientFor(t, cluster(), { credentials: await identityOf(cluster(), "frank", []) });
    assert.throws(() => api.replaceCredentials({ kind: "certificate", certificatePem: "no", keyPem: "key" }));
    assert.equal(await whoAmI(api), "frank");
  });

  void test("credentials change from a certificate to a token and back", async (t) => {
    const admin = await clientFor(t, cluster());
    const ns = await newNamespace(admin);
    const certificate = await identityOf(cluster(), "erin", []);
    const api = await clientFor(t, cluster(), { credentials: certificate });
    assert.equal(await whoAmI(api), "erin");
    api.replaceCredentials({ kind: "token", token: await tokenOf(admin, ns, "default") });
    assert.equal(await whoAmI(api), `system:serviceaccount:${ns}:default`);
    api.replaceCredentials(certificate);
    assert.equal(await whoAmI(api), "erin");
  });
}

function trustCases(cluster: ClusterOf): void {
  const isUntrusted = (pattern: RegExp) => (error: unknown) =>
    error instanceof ApiUnreachableError && !error.mayHaveHappened && pattern.test(error.message);

  void test("a server certificate signed by an unknown CA is refused", async (t) => {
    const admin = await clientFor(t, cluster());
    const { data } = await admin.get(
      configMaps,
      { namespace: "kube-system", name: "extension-apiserver-authentication" },
      forever,
    );
    const otherAuthority = data?.["requestheader-client-ca-file"] ?? "";
    const api = await clientFor(t, cluster(), { ca: otherAuthority });
    await assert.rejects(whoAmI(api), isUntrusted(/certificate/));
  });

  void test("a server certificate without the requested name is refused", async (t) => {
    const proxy = await proxyFor(t, cluster(), "127.0.0.7");
    const api = await clientFor(t, cluster(), { url: proxy.url });
    await assert.rejects(whoAmI(api), isUntrusted(/127\.0\.0\.7/));
  });

  void test("a URL that is not https is refused", async () => {
    await assert.rejects(
      clientFor({ after() {} } as unknown as TestContext, cluster(), { url: "http://127.0.0.1:1" }),
      {
        name: "BugError",
      },
    );
  });
}
