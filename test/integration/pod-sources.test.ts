/**
 * Static pods, their mirror pods and the pods of the API server, through Deckhand's loops and with a node's identity.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { nodes, pods } from "../../src/api/resources.ts";
import { LatestCell } from "../../src/concurrency/latest-cell.ts";
import { LatestTable } from "../../src/concurrency/latest-table.ts";
import { runPodConfig } from "../../src/controllers/pod-config/pod-config.ts";
import { runApiSource } from "../../src/controllers/pod-sources/api-source.ts";
import { runFileSource } from "../../src/controllers/pod-sources/file-source.ts";
import { StaticPodNamer } from "../../src/controllers/pod-sources/manifests.ts";
import { runMirrorPods } from "../../src/controllers/status/mirror-pods.ts";
import type { OwnNode } from "../../src/domain/node/own-node.ts";
import { type DesiredPods, noPods, type SourceState } from "../../src/domain/pod/desired-pod.ts";
import { CONFIG_HASH, CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE } from "../../src/domain/pod/pod-identity.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { createHostFiles } from "../../src/wire/host/files.ts";
import { hostRandom } from "../../src/wire/host/random.ts";
import type { KubeApi } from "../../src/wire/kube-api/client.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { keptLog } from "../support/quiet-log.ts";
import { clientOf, identityOf, newNamespace } from "./api-world.ts";

const forever = new AbortController().signal;

interface AuditLine {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly responseStatus?: { readonly code: number };
}

const manifest = (name: string, image: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "kube-system", labels: { tier: "control-plane" } },
  spec: { hostNetwork: true, priorityClassName: "system-node-critical", containers: [{ name: "app", image }] },
});

describe("pod sources on a real API server", () => {
  let cluster: Cluster;
  let admin: KubeApi;
  let node: KubeApi;
  let directory: string;
  let namespace: string;
  const shutdown = new AbortController();
  const loops: Promise<void>[] = [];
  const apiState = new LatestCell<SourceState>({ kind: "unseen" });
  const fileState = new LatestCell<SourceState>({ kind: "unseen" });
  const desiredPods = new LatestCell<DesiredPods>(noPods);
  const ownNode = new LatestCell<OwnNode>({ kind: "unknown" });
  const log = keptLog();

  before(async () => {
    cluster = await startCluster({ controlPlane: "api", nodes: [] });
    admin = await clientOf(cluster);
    node = await clientOf(cluster, { credentials: await identityOf(cluster, "system:node:n1", ["system:nodes"]) });
    directory = await mkdtemp(join(tmpdir(), "manifests-"));
    namespace = await newNamespace(admin);
    const files = createHostFiles({ clock: hostClock });
    const [clock, random] = [hostClock, hostRandom];
    const namer = new StaticPodNamer({ journal: { append: () => Promise.resolve() }, clock }, new Map(), () => ({
      sandboxes: [],
      mirrors: desiredPods.value.mirrors,
    }));
    const options = { path: directory, checkEveryMs: 20_000, nodeName: "n1" };
    const events = { emit: () => {} };
    loops.push(
      runFileSource(
        options,
        { files, clock, log, namer, listedSandboxes: new LatestCell(0), state: fileState },
        shutdown.signal,
      ),
      runApiSource({ api: node, clock, random, log, ownNode, state: apiState, nodeName: "n1" }, shutdown.signal),
      runPodConfig(
        {
          sources: new Map([
            ["file", fileState],
            ["api", apiState],
          ]),
          desiredPods,
          clock,
          events,
          log,
        },
        shutdown.signal,
      ),
      runMirrorPods(
        {
          api: node,
          clock,
          random,
          log,
          desiredPods,
          ownNode,
          listedSandboxes: new LatestCell([]),
          podRuntimeStatus: new LatestTable(),
        },
        shutdown.signal,
      ),
    );
  });

  after(async () => {
    shutdown.abort(new Error("the test has ended"));
    await Promise.all(loops);
    await Promise.all([admin.close(), node.close()]);
    await rm(directory, { recursive: true });
    await cluster.down();
  });

  const mirror = async (): Promise<Pod | undefined> => {
    const page = await admin.list(pods, { namespace: "kube-system" }, {}, forever);
    return page.items.find(({ metadata }) => metadata?.name === "etcd-n1");
  };
  const mirrorWith = async (what: string, is: (mirror: Pod | undefined) => boolean): Promise<Pod | undefined> => {
    let found: Pod | undefined;
    await waitUntil(what, 10_000, async () => is((found = await mirror())));
    return found;
  };

  test("[4.10] a static pod has no mirror pod until the Node exists, and gets one as soon as it does", async () => {
    await writeFile(join(directory, "etcd.yaml"), JSON.stringify(manifest("etcd", "registry.k8s.io/etcd:3.6.5")));
    await writeFile(join(directory, "garbage.yaml"), "kind: [");
    await waitUntil("the file source", 10_000, () => Promise.resolve(desiredPods.value.pods.size === 1));
    assert.equal(await mirror(), undefined);
    const made = await node.create(nodes, { metadata: { name: "n1" } }, forever);
    ownNode.set({ kind: "present", node: made });
    await mirrorWith("the mirror", (found) => found !== undefined);
  });

  test("[4.8] the mirror pod has the static pod's annotations, labels and priority, and is owned by the Node", async () => {
    const [desired] = [...desiredPods.value.pods.values()];
    const { metadata, spec } = (await mirror()) ?? {};
    const annotations = metadata?.annotations ?? {};
    assert.equal(annotations[CONFIG_MIRROR], desired?.uid);
    assert.equal(annotations[CONFIG_HASH], desired?.uid);
    assert.equal(annotations[CONFIG_SOURCE], "file");
    assert.match(annotations[CONFIG_SEEN] ?? "", /^\d{4}-\d\d-\d\dT.*Z$/);
    const own = ownNode.value.kind === "present" ? ownNode.value.node.metadata?.uid : "";
    assert.deepEqual(metadata?.ownerReferences, [
      { apiVersion: "v1", kind: "Node", name: "n1", uid: own, controller: true },
    ]);
    assert.deepEqual([spec?.nodeName, spec?.priority], ["n1", 2_000_001_000]);
    assert.deepEqual(metadata?.labels, { tier: "control-plane" });
  });

  for (const [how, args] of [
    ["at once", ["--grace-period=0", "--force"]],
    ["with its grace period", ["--wait=false"]],
  ] as const) {
    test(`[4.8] a mirror pod deleted with kubectl ${how} is recreated, and the static pod stays`, async () => {
      const before = (await mirror())?.metadata?.uid;
      await cluster.kubectl("delete", "pod", "-n", "kube-system", "etcd-n1", ...args);
      const isNew = ({ metadata }: Pod) => metadata?.uid !== before && metadata?.deletionTimestamp === undefined;
      await mirrorWith("the mirror to come back", (found) => found !== undefined && isNew(found));
      assert.equal(desiredPods.value.pods.size, 1);
    });
  }

  test("[4.5] [4.8] [27.4.4] an edited manifest gets a new UID, and a new mirror pod with the new hash", async () => {
    const [before] = desiredPods.value.pods.keys();
    const mirrorBefore = (await mirror())?.metadata?.uid;
    await writeFile(join(directory, "etcd.yaml"), JSON.stringify(manifest("etcd", "registry.k8s.io/etcd:3.6.6")));
    const found = await mirrorWith("the mirror to change", (one) => {
      const hash = one?.metadata?.annotations?.[CONFIG_MIRROR];
      return hash !== undefined && hash !== before;
    });
    assert.deepEqual([...desiredPods.value.pods.keys()], [found?.metadata?.annotations?.[CONFIG_MIRROR]]);
    assert.equal(found?.spec?.containers[0]?.image, "registry.k8s.io/etcd:3.6.6");
    assert.notEqual(found?.metadata?.uid, mirrorBefore);
  });

  test("[4.1] a pod bound to the node is observed, with its changes and deletion, and pods of other nodes are not", async () => {
    const pod = (name: string, nodeName: string): Pod => ({
      metadata: { name, namespace },
      spec: { nodeName, automountServiceAccountToken: false, containers: [{ name: "a", image: "i:1" }] },
    });
    await admin.create(pods, pod("other", "n2"), forever);
    const { metadata } = await admin.create(pods, pod("web", "n1"), forever);
    const uid = metadata?.uid ?? "";
    const seen = () => desiredPods.value.pods.get(uid)?.pod.metadata;
    const soon = (what: string, is: () => boolean) => waitUntil(what, 10_000, () => Promise.resolve(is()));
    await soon("the pod", () => seen() !== undefined);
    assert.equal(seen()?.annotations?.[CONFIG_SOURCE], "api");
    const firstSeen = seen()?.annotations?.[CONFIG_SEEN];
    const patch = { kind: "merge", body: { metadata: { labels: { a: "b" } } } } as const;
    await admin.patch(pods, { namespace, name: "web" }, patch, {}, forever);
    await soon("the change", () => seen()?.labels?.["a"] === "b");
    assert.equal(seen()?.annotations?.[CONFIG_SEEN], firstSeen);
    await admin.delete(pods, { namespace, name: "web" }, {}, forever);
    await soon("the mark of its end", () => seen()?.deletionTimestamp !== undefined);
    await admin.delete(pods, { namespace, name: "web" }, { gracePeriodSeconds: 0 }, forever);
    await soon("its end", () => seen() === undefined);
    const stored = await admin.list(pods, { namespace, fields: "spec.nodeName=n2" }, {}, forever);
    assert.deepEqual(
      stored.items.map(({ metadata: one }) => one?.annotations),
      [undefined],
    );
    assert.equal(desiredPods.value.pods.size, 1);
  });

  test("[4.1] pods are watched in all namespaces by nodeName, and only after the Node exists", async () => {
    const ours = (await readFile(cluster.api.auditLog, "utf8"))
      .split("\n")
      .filter((line) => line.includes('"system:node:n1"'))
      .map((line) => JSON.parse(line) as AuditLine);
    const watches = ours.filter(
      ({ verb, requestURI }) => /^(?:watch|list)$/.test(verb) && requestURI.includes("/pods"),
    );
    assert.ok(watches.length > 0);
    for (const { requestURI } of watches) {
      const url = new URL(requestURI, "https://server");
      assert.deepEqual([url.pathname, url.searchParams.get("fieldSelector")], ["/api/v1/pods", "spec.nodeName=n1"]);
    }
    const made = ours.find(({ verb, requestURI }) => verb === "create" && requestURI.startsWith("/api/v1/nodes"));
    const madeAt = made?.requestReceivedTimestamp ?? assert.fail("the Node was made");
    assert.ok(watches.every(({ requestReceivedTimestamp }) => requestReceivedTimestamp > madeAt));
  });

  test("[4.8] removing a manifest deletes its mirror pod", async () => {
    await rm(join(directory, "etcd.yaml"));
    await mirrorWith("the mirror to go", (found) => found === undefined);
    assert.deepEqual([desiredPods.value.pods.size, desiredPods.value.sourcesReady], [0, true]);
  });

  test("[4.8] no request of the node's identity fails, except one delete of a mirror pod that is gone", async () => {
    const lines = (await readFile(cluster.api.auditLog, "utf8")).split("\n").filter((line) => line !== "");
    const ours = lines
      .map((line) => JSON.parse(line) as AuditLine)
      .filter(({ user }) => user.username === "system:node:n1");
    assert.ok(ours.some(({ verb }) => verb === "create") && ours.some(({ verb }) => verb === "delete"));
    // A mirror pod deleted with force gets a deletionTimestamp first, and may be gone when Deckhand's own delete
    // arrives.
    const isRace = ({ verb, responseStatus }: AuditLine) => verb === "delete" && responseStatus?.code === 404;
    const failed = ours.filter((line) => (line.responseStatus?.code ?? 200) >= 400);
    assert.deepEqual(
      failed.filter((line) => !isRace(line)),
      [],
    );
    assert.ok(failed.length <= 1, `${failed.length} deletes of what was gone`);
  });
});
