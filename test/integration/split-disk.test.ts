/**
 * A split disk: the runtime reports that images are on one disk, and writable layers on the disk of the root directory.
 * The harness's proxy reports this in place of containerd, whose layers remain beside its images.
 */
import assert from "node:assert/strict";
import { statfs } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import type { PodSpec } from "../../src/api/gen/core-v1.ts";
import type { PodStats } from "../../src/domain/stats/summary-shape.ts";
import type { ImageFsInfoResponse } from "../../src/wire/cri/gen/api_pb.js";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { AGNHOST_IMAGE } from "../cluster/images.ts";
import { waitUntil } from "../cluster/wait.ts";
import { Ballast } from "../support/ballast.ts";
import { ClusterPods, podOn, sh } from "../support/cluster-pods.ts";
import { isEvicted } from "../support/evictions.ts";
import { withRuntime } from "../support/node-runtime.ts";
import { PressedNode } from "../support/pressed-node.ts";

const MIB = 2 ** 20;
const NODEFS = { path: "/var/lib", megabytes: 300, inodes: 6_000 };
const IMAGEFS = { path: "/var/lib/containerd", megabytes: 500, inodes: 8_000 };
const NODEFS_BYTES = 60 * MIB;
const IMAGEFS_BYTES = 100 * MIB;
const LIMIT_MS = 60_000;
const forever = new AbortController().signal;

const OPTIONS = {
  configuration: {
    evictionPressureTransitionPeriod: "1s",
    volumeStatsAggPeriod: "5s",
    nodeStatusUpdateFrequency: "2s",
    // Images are removed for eviction only.
    imageGCHighThresholdPercent: 100,
    evictionHard: { "nodefs.available": "60Mi", "imagefs.available": "100Mi" },
  },
  // In the configuration, 0 stands for the default.
  flags: ["--minimum-image-ttl-duration=0s"],
};

/** Ends at once, and failed. */
const STAY = "trap 'exit 1' TERM; while :; do sleep 1000 & wait; done";
const bytes = (megabytes: number, path: string) => `head -c ${megabytes * MIB} /dev/zero > ${path}`;
const IN_LAYER: Partial<PodSpec> = { containers: [sh(`${bytes(16, "/data")}; ${STAY}`)] };
const IN_VOLUME: Partial<PodSpec> = {
  containers: [
    {
      ...sh(`${bytes(10, "/scratch/data")}; ${STAY}`),
      volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
    },
  ],
  volumes: [{ name: "scratch", emptyDir: {} }],
};
const DONE: Partial<PodSpec> = { containers: [sh(bytes(8, "/data"))] };

const uses =
  (megabytes: number) =>
  (stats: PodStats): boolean =>
    (stats["ephemeral-storage"]?.usedBytes ?? 0) >= megabytes * MIB;

let cluster: Cluster;
let node: ClusterNode;
let pods: ClusterPods;
let pressed: PressedNode;
let nodefs: Ballast;
let imagefs: Ballast;

async function capacityOf({ path }: typeof NODEFS): Promise<number> {
  const { blocks, bsize } = await statfs(node.inside(path));
  return blocks * bsize;
}

const create = (name: string, spec: Partial<PodSpec>) =>
  pods.create(podOn(node.name, name, { restartPolicy: "Never", ...spec }));

const ended = (name: string) =>
  pods.first(name, "ended", ({ status }) => ["Succeeded", "Failed"].includes(status?.phase ?? ""));

/** How many containers of the pod are in the runtime. */
async function containersOf(name: string): Promise<number> {
  const uid = pods.latest(name)?.metadata?.uid ?? assert.fail(`${name} still exists`);
  const labels = { "io.kubernetes.pod.uid": uid };
  return withRuntime(node, async (runtime) => (await runtime.listContainers({ labels }, forever)).length);
}

/** No pod of this suite uses the image. */
const hasUnusedImage = async () => (await pressed.images()).includes(AGNHOST_IMAGE);

before(async () => {
  cluster = await startCluster({
    controlPlane: "full",
    nodes: [{ agent: "deckhand", criProxy: true, disks: [NODEFS, IMAGEFS], options: OPTIONS }],
  });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  pods = await ClusterPods.of(cluster);
  pressed = new PressedNode(cluster, node);
  [nodefs, imagefs] = [new Ballast(node, NODEFS.path), new Ballast(node, IMAGEFS.path)];
  const proxy = node.criProxy ?? assert.fail("the node has a proxy");
  proxy.hook("ImageFsInfo", {
    answer: (answer) => {
      const { imageFilesystems } = answer as ImageFsInfoResponse;
      const containerFilesystems = imageFilesystems.map((usage) => ({
        ...usage,
        fsId: { $typeName: "runtime.v1.FilesystemIdentifier", mountpoint: "/var/lib/kubelet" },
      }));
      return { ...(answer as ImageFsInfoResponse), containerFilesystems };
    },
  });
  await cluster.changeAgent(node.name, "deckhand", OPTIONS);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

void suite("a split disk", () => {
  test("[9.13] images and writable layers are measured where the runtime says that they are", async () => {
    const sizes = [await capacityOf(IMAGEFS), await capacityOf(NODEFS)];
    assert.notEqual(sizes[0], sizes[1]);
    let found: readonly (number | undefined)[] = [];
    await waitUntil("the file systems in the summary", LIMIT_MS, async () => {
      const { imageFs, containerFs } = (await pressed.summary()).node.runtime ?? {};
      found = [imageFs?.capacityBytes, containerFs?.capacityBytes];
      return !found.includes(undefined);
    });
    assert.deepEqual(found, sizes);
  });

  test("[9.13] a shortage of nodefs removes dead containers and no image, and evicts by writable layers too", async () => {
    for (const [name, spec] of Object.entries({ layer: IN_LAYER, volume: IN_VOLUME, finished: DONE }))
      await create(name, spec);
    await ended("finished");
    await pressed.measured({ layer: uses(16), volume: uses(10) });
    assert.equal(await containersOf("finished"), 1);
    assert.ok(await hasUnusedImage());
    await nodefs.leaveBytes(NODEFS_BYTES - 5 * MIB);
    // Its layer does not free the disk that the runtime names: the ballast goes before the next pod would.
    await pods.first("layer", "was evicted", isEvicted, LIMIT_MS);
    await nodefs.remove();
    assert.equal(await containersOf("finished"), 0);
    assert.ok(await hasUnusedImage(), "the image stays");
    await pressed.condition("DiskPressure", "False");
    assert.equal(pods.latest("volume")?.status?.phase, "Running");
  });

  test("[9.13] a shortage of imagefs removes unused images and no container", async () => {
    await create("finished-later", DONE);
    await ended("finished-later");
    await imagefs.leaveBytes(IMAGEFS_BYTES - 10 * MIB);
    await waitUntil("the unused image to be removed", LIMIT_MS, async () => !(await hasUnusedImage()));
    await pressed.condition("DiskPressure", "False");
    assert.ok((await imagefs.free()).bytes > IMAGEFS_BYTES);
    assert.equal(await containersOf("finished-later"), 1);
    assert.equal(pods.latest("volume")?.status?.phase, "Running");
    const { "nodefs.available": evicted } = await pressed.evictionsCounted();
    assert.equal(evicted, 1);
  });
});
