/** A static pod that a Go kubelet runs, as Deckhand finds it: the same pod, under its UID, with its mirror pod. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { nodes, pods } from "../../src/api/resources.ts";
import { readManifests } from "../../src/controllers/pod-sources/manifests.ts";
import { noPods } from "../../src/domain/pod/desired-pod.ts";
import { CONFIG_HASH, CONFIG_MIRROR, CONFIG_SOURCE, fullNameOf } from "../../src/domain/pod/pod-identity.ts";
import { mergeSources } from "../../src/domain/static-pods/merge-sources.ts";
import { planMirrors } from "../../src/domain/static-pods/mirror-plan.ts";
import { identified, type StaticManifest } from "../../src/domain/static-pods/static-pod-source.ts";
import { type StaticPodWorld, staticUidOf } from "../../src/domain/static-pods/static-pod-uid.ts";
import type { KubeApi } from "../../src/wire/kube-api/client.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { waitUntil } from "../cluster/wait.ts";
import { withRuntime } from "../support/node-runtime.ts";
import { clientOf } from "./api-world.ts";

const forever = new AbortController().signal;

const yaml = (argument: string) => `# as people write them
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: kube-system
  labels: {app: web}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 0
  containers:
  - name: app
    image: ${BUSYBOX_IMAGE}
    command: [sleep, "${argument}"]
    resources: {limits: {memory: 65536Ki}, requests: {cpu: 0.01}}
    livenessProbe: {exec: {command: ["true"]}}
    ports: [{containerPort: 8080}]
    volumeMounts: [{name: tmp, mountPath: /scratch}]
  volumes:
  - name: tmp
    emptyDir: {sizeLimit: 1024Ki}
`;

describe("a static pod of a Go kubelet", () => {
  let cluster: Cluster;
  let api: KubeApi;
  let mirror: Pod;
  let world: StaticPodWorld;
  let path: string;

  before(async () => {
    cluster = await startCluster({ controlPlane: "api", nodes: [{ agent: "go" }] });
    api = await clientOf(cluster);
    const [node] = cluster.nodes;
    assert.ok(node);
    path = join(node.directory, "manifests", "web.yaml");
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, yaml("3600"));
    await waitUntil("the static pod to run", 60_000, async () => {
      mirror = await api.get(pods, { namespace: "kube-system", name: "web-n1" }, forever);
      return mirror.status?.phase === "Running";
    });
    const sandboxes = await withRuntime(node, (runtime) => runtime.listSandboxes({}, forever));
    world = { facts: new Map(), sandboxes, mirrors: new Map([[fullNameOf(mirror), mirror]]) };
  });

  after(async () => {
    await api.close();
    await cluster.down();
  });

  const manifest = (text: string): StaticManifest => {
    const read = readManifests(new TextEncoder().encode(text), { kind: "file", path }, "n1", { lists: false });
    assert.equal(read.kind, "ok", read.kind === "refused" ? read.reason : "");
    const [first] = read.kind === "ok" ? read.manifests : [];
    assert.ok(first);
    return first;
  };

  test("[4.2] [4.5] its sandbox has the config source and hash annotations, and the hash is its UID", () => {
    const sandbox = world.sandboxes?.find(({ metadata }) => metadata.name === "web-n1");
    assert.equal(sandbox?.annotations[CONFIG_SOURCE], "file");
    assert.equal(sandbox?.annotations[CONFIG_HASH], sandbox?.metadata.uid);
    assert.match(sandbox?.metadata.uid ?? "", /^[0-9a-f]{32}$/);
  });

  test("[4.5] [27.2.7] an unchanged manifest is adopted under the UID of the running pod, and its mirror pod stays", async () => {
    const unchanged = manifest(yaml("3600"));
    const named = staticUidOf(unchanged, world);
    assert.equal(named.kind, "known");
    const [uid, configHash] = named.kind === "known" ? [named.uid, named.configHash] : [];
    assert.equal(uid, world.sandboxes?.find(({ metadata }) => metadata.name === "web-n1")?.metadata.uid);
    assert.equal(configHash, mirror.metadata?.annotations?.[CONFIG_MIRROR]);
    const pod = identified(unchanged, uid ?? "", configHash ?? "");
    const { desired } = mergeSources(
      new Map([
        ["file", { kind: "seen", pods: [pod] }],
        ["api", { kind: "seen", pods: [mirror] }],
      ]),
      noPods,
      0,
    );
    const node = await api.get(nodes, { name: "n1" }, forever);
    assert.deepEqual(planMirrors(desired, { kind: "present", node }, new Map()).actions, []);
  });

  test("[4.5] a manifest that was edited meanwhile is not adopted", () => {
    const edited = manifest(yaml("7200"));
    const named = staticUidOf(edited, world);
    assert.equal(named.kind === "known" ? named.uid : "", edited.ownUid);
  });
});
