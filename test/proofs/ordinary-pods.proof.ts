/**
 * Pods with every ordinary kind of volume, while their agent is killed at random moments and a ConfigMap that they
 * mount is edited continuously. The containers check their own files and write every fault to a directory of the node.
 */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { SeededRandom } from "../../sim/seeded-random.ts";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { configMaps, persistentVolumeClaims, persistentVolumes, secrets } from "../../src/api/resources.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { seed, wholeSize } from "../size.ts";
import { builtBundle } from "../support/built-program.ts";
import { ClusterPods } from "../support/cluster-pods.ts";
import { lastingPod, NO_FAULTS, NODE, SurvivalWorld } from "../support/survival-world.ts";

const SIZE = wholeSize() ? { pods: 20, kills: 50 } : { pods: 6, kills: 6 };
const LIFE_MS_MIN = 100;
const LIFE_MS_MAX = 5_000;
/** A thousand edits a minute. */
const EDIT_EVERY_MS = 60;

/** Directories of the node that outlive pods. */
const KEPT = "/var/lib/kept";
const DISK = "/var/lib/disk";
const forever = new AbortController().signal;

/**
 * Every file must exist when the container starts, and while it runs the two keys of one ConfigMap version must agree.
 * The script enters the directory of that version, so that it reads both keys from the same version.
 */
const SCRIPT = `
for file in /token/token /token/ca.crt /token/namespace /config/a /config/b /secret/key /about/name /part/given /image/bin/busybox; do
  [ -s $file ] || echo "$HOSTNAME: no $file at the start" >> /kept/faults
done
echo data > /scratch/data
echo data > /disk/$HOSTNAME
echo data > /kept/seen/$HOSTNAME
trap 'exit 0' TERM
while :; do
  if cd -P /config/..data; then
    here=$(pwd -P); a=$(cat a 2>/dev/null); b=$(cat b 2>/dev/null)
    [ "$a" = "$b" ] || [ "/config/$(readlink /config/..data)" != "$here" ] || echo "$HOSTNAME: half a set: $a $b" >> /kept/faults
  else echo "$HOSTNAME: no set" >> /kept/faults; fi
  cd /; [ "$(cat /scratch/data)" = data ] || echo "$HOSTNAME: scratch lost its data" >> /kept/faults
  [ "$(cat /disk/$HOSTNAME)" = data ] || echo "$HOSTNAME: the disk lost its data" >> /kept/faults
  sleep 0.2 & wait $!
done`;

const withVolumes = (name: string): Pod =>
  lastingPod(name, {
    securityContext: { fsGroup: 1234 },
    containers: [
      {
        name: "app",
        image: BUSYBOX_IMAGE,
        command: ["sh", "-c", SCRIPT],
        volumeMounts: [
          { name: "token", mountPath: "/token" },
          { name: "config", mountPath: "/config" },
          { name: "secret", mountPath: "/secret" },
          { name: "about", mountPath: "/about" },
          { name: "scratch", mountPath: "/scratch" },
          { name: "memory", mountPath: "/memory" },
          { name: "kept", mountPath: "/kept" },
          { name: "kept", mountPath: "/part", subPath: "part" },
          { name: "disk", mountPath: "/disk" },
          { name: "image", mountPath: "/image" },
        ],
      },
    ],
    volumes: [
      {
        name: "token",
        projected: {
          sources: [
            { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
            { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
            { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
          ],
        },
      },
      { name: "config", configMap: { name: "edited" } },
      { name: "secret", secret: { secretName: "kept-secret" } },
      { name: "about", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
      { name: "scratch", emptyDir: {} },
      { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
      { name: "kept", hostPath: { path: KEPT, type: "Directory" } },
      { name: "disk", persistentVolumeClaim: { claimName: "disk" } },
      { name: "image", image: { reference: BUSYBOX_IMAGE } },
    ],
  });

/** A directory of the node as a volume, which all pods use through one claim. */
const disk = {
  metadata: { name: "disk" },
  spec: {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteMany"],
    persistentVolumeReclaimPolicy: "Retain",
    storageClassName: "",
    claimRef: { kind: "PersistentVolumeClaim", namespace: "default", name: "disk" },
    local: { path: DISK },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [NODE] }] }],
      },
    },
  },
};
const claim = {
  metadata: { namespace: "default", name: "disk" },
  spec: {
    accessModes: ["ReadWriteMany"],
    storageClassName: "",
    volumeName: "disk",
    resources: { requests: { storage: "1Gi" } },
  },
};

/** A pod whose token expires after ten minutes, the shortest lifetime allowed. */
const briefToken = (): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "brief-token", namespace: "default" },
  spec: {
    nodeName: NODE,
    automountServiceAccountToken: false,
    containers: [
      {
        name: "app",
        image: BUSYBOX_IMAGE,
        command: ["sleep", "3600"],
        volumeMounts: [{ name: "token", mountPath: "/token" }],
      },
    ],
    volumes: [
      {
        name: "token",
        projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }] },
      },
    ],
  },
});

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as {
    readonly iat: number;
    readonly exp: number;
    readonly jti: string;
  };

describe("ordinary pods outlive their agent", () => {
  const random = new SeededRandom(seed());
  let world: SurvivalWorld;
  let pods: ClusterPods;

  before(async () => {
    world = await SurvivalWorld.start(withVolumes);
    pods = await ClusterPods.of(world.cluster);
    const [node] = world.cluster.nodes;
    assert.ok(node !== undefined);
    for (const directory of [`${KEPT}/part`, `${KEPT}/seen`, DISK])
      await mkdir(node.inside(directory), { recursive: true });
    await writeFile(node.inside(`${KEPT}/part/given`), "by the node");
    await pods.api.create(
      configMaps,
      { metadata: { namespace: "default", name: "edited" }, data: { a: "0", b: "0" } },
      forever,
    );
    await pods.api.create(
      secrets,
      { metadata: { namespace: "default", name: "kept-secret" }, data: { key: "c2VjcmV0" } },
      forever,
    );
    await pods.api.create(persistentVolumes, disk, forever);
    await pods.api.create(persistentVolumeClaims, claim, forever);
    for (let i = 0; i < SIZE.pods; i += 1) await world.create();
    await world.settled();
  });

  after(async () => {
    await pods.close();
    await world.down();
  });

  const inNode = (path: string) => world.cluster.nodes[0]?.inside(path) ?? assert.fail("the cluster has a node");

  async function edit(done: AbortSignal): Promise<number> {
    const beginMs = performance.now();
    let edits = 0;
    const name = { namespace: "default", name: "edited" };
    while (!done.aborted) {
      edits += 1;
      const data = { a: String(edits), b: String(edits) };
      await pods.api.patch(configMaps, name, { kind: "merge", body: { data } }, {}, forever);
      await pause(Math.max(0, beginMs + edits * EDIT_EVERY_MS - performance.now()));
    }
    figure(
      "edits of the ConfigMap a minute",
      Math.round(edits / ((performance.now() - beginMs) / 60_000)),
      "edits/min",
    );
    return edits;
  }

  /** The UIDs of the pods that have mount points. */
  async function mounted(): Promise<ReadonlySet<string>> {
    const { stdout } = (await world.cluster.nodes[0]?.run("cat", "/proc/self/mountinfo")) ?? assert.fail();
    return new Set([...stdout.matchAll(/\/pods\/(?<uid>[0-9a-f-]{36})\//g)].map(({ groups }) => groups?.["uid"] ?? ""));
  }

  test("[13.2] [13.3] [13.7] kills under churn and edits leak no mount, tear no ConfigMap update, lose no data, and duplicate or restart no container", async (t) => {
    t.diagnostic(`seed ${seed()}`);
    const done = new AbortController();
    const work = Promise.all([world.churn(random.split("churn"), done.signal), edit(done.signal)]);
    try {
      for (let kill = 0; kill < SIZE.kills; kill += 1) {
        await pause(LIFE_MS_MIN + random.fraction() * (LIFE_MS_MAX - LIFE_MS_MIN));
        await world.kill(`kubelet@${NODE}`);
        await world.cluster.component(`kubelet@${NODE}`).restart();
      }
    } finally {
      done.abort();
    }
    const [changes, edits] = await work;
    await world.settled();
    figure("kills", SIZE.kills, "kills");
    figure("pods deleted and created meanwhile", changes, "pods");
    figure("edits of the ConfigMap meanwhile", edits, "edits");
    assert.deepEqual(await world.faults(), NO_FAULTS);
    assert.equal(await readFile(inNode(`${KEPT}/faults`), "utf8").catch(() => ""), "");
    const wanted = new Set(world.wanted.map(({ uid }) => uid));
    const only = async () => {
      const left = [...(await mounted())].filter((uid) => !wanted.has(uid));
      if (left.length > 0) throw new Error(`mounts of pods that are gone: ${left.join(" ")}`);
      return true;
    };
    await waitUntil("the mounts of gone pods to be gone", 60_000, only, 500);
    assert.deepEqual([...(await mounted())].sort(), [...wanted].sort(), "and every wanted pod has its own");
    const directories = async () => (await readdir(inNode("/var/lib/kubelet/pods"))).every((uid) => wanted.has(uid));
    await waitUntil("the directories of gone pods to be gone", 90_000, directories, 500);
    assert.equal(await readFile(inNode(`${KEPT}/part/given`), "utf8"), "by the node");
    const written = (await readdir(inNode(DISK))).toSorted();
    assert.deepEqual(written, (await readdir(inNode(`${KEPT}/seen`))).toSorted(), "what each pod left stays");
    assert.ok(written.length >= SIZE.pods);
    figure("pods whose data outlives them", written.length, "pods");
  });

  test("`deckhand orphans list` is empty afterwards", async () => {
    const node = world.cluster.nodes[0] ?? assert.fail("the cluster has a node");
    const flags = [`--config=${join(node.directory, "kubelet.json")}`];
    const { stdout, stderr, code } = await node.run(process.execPath, await builtBundle(), "orphans", "list", ...flags);
    assert.deepEqual([stdout, stderr, code], ["No orphaned pod directories found.\n", "", 0]);
  });

  // This test takes eight minutes; at the small size only the simulator covers it.
  if (wholeSize())
    test("[13.11] a token of ten minutes is renewed before it expires", async () => {
      await pods.create(briefToken());
      const { metadata } = await pods.first("brief-token", "running", ({ status }) => status?.phase === "Running");
      const file = inNode(`/var/lib/kubelet/pods/${metadata?.uid}/volumes/kubernetes.io~projected/token/token`);
      const read = async () => claimsOf(await readFile(file, "utf8"));
      const first = await read();
      await waitUntil("the next token", 600_000, async () => (await read()).jti !== first.jti, 1_000);
      const ageSeconds = (await read()).iat - first.iat;
      figure("age of the token when it was renewed", ageSeconds, "s");
      assert.equal(first.exp - first.iat, 600);
      assert.ok(ageSeconds >= 470 && ageSeconds <= 500, `${ageSeconds} s`);
    });
});
