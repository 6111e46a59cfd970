/**
 * Eight hostPath volumes on mounts that never respond: their pods wait and can be deleted, and other pods are not
 * affected.
 */
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Pod, Volume } from "../../src/api/gen/core-v1.ts";
import { configMaps } from "../../src/api/resources.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { ClusterPods, podOn, SLEEPER } from "../support/cluster-pods.ts";

const DEAD = Array.from({ length: 8 }, (_, index) => `/var/lib/dead-${index}`);
const SERVER = join(import.meta.dirname, "..", "support", "dead-mount-server.ts");
/** Long enough under the load of a whole test run. */
const SOON_MS = 20_000;
const forever = new AbortController().signal;

let cluster: Cluster;
let node: ClusterNode;
let pods: ClusterPods;
let server: number;

const podWith = (name: string, volume: Volume): Pod =>
  podOn(node.name, name, {
    containers: [{ ...SLEEPER, volumeMounts: [{ name: volume.name, mountPath: "/v" }] }],
    volumes: [volume],
  });

const isRunning = ({ status }: Pod) => status?.phase === "Running";

before(async () => {
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand" }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  pods = await ClusterPods.of(cluster);
  for (const path of DEAD) await mkdir(node.inside(path));
  const said = node.inside("/var/lib/dead-server");
  const command = `${process.execPath} ${SERVER} ${DEAD.join(" ")} > /var/lib/dead-server 2>&1 & echo $!`;
  server = Number((await node.run("sh", "-c", command)).stdout);
  await waitUntil("the dead mounts", 20_000, async () => (await readFile(said, "utf8")) === "mounted\n");
  const settings = { metadata: { namespace: "default", name: "settings" }, data: { word: "old" } };
  await pods.api.create(configMaps, settings, forever);
  await pods.create(podWith("before", { name: "settings", configMap: { name: "settings" } }));
  await pods.first("before", "running", isRunning);
});

after(async () => {
  process.kill(server);
  await pods.close();
  await cluster.down();
});

void suite("dead mounts", () => {
  test("[13.1] [13.6] pods with unresponsive hostPath volumes get FailedMount events with the cause", async () => {
    for (const [index, path] of DEAD.entries())
      await pods.create(podWith(`stuck-${index}`, { name: "dead", hostPath: { path, type: "Directory" } }));
    const reported = async () => {
      const events = await Promise.all(DEAD.map((_, index) => pods.eventsOf(`stuck-${index}`)));
      return events.flat().filter(({ reason }) => reason === "FailedMount");
    };
    const subjects = async () => new Set((await reported()).map(({ involvedObject }) => involvedObject.name));
    await waitUntil("an event for each", 120_000, async () => (await subjects()).size === DEAD.length, 500);
    for (const { message } of await reported())
      assert.match(
        message ?? "",
        /^MountVolume\.SetUp failed for volume "dead" : .*(no answer within \d+ ms|an earlier call still hangs there)$/,
      );
  });

  test("[13.1] [13.7] [13.8] meanwhile another pod starts, and a ConfigMap edit reaches a mounted volume", async () => {
    await pods.create(podWith("after", { name: "settings", configMap: { name: "settings" } }));
    await pods.first("after", "running", isRunning, SOON_MS);
    const [found] = pods.versions("before").slice(-1);
    const uid = found?.pod.metadata?.uid;
    const file = node.inside(`/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~configmap/settings/word`);
    const name = { namespace: "default", name: "settings" };
    await pods.api.patch(configMaps, name, { kind: "merge", body: { data: { word: "new" } } }, {}, forever);
    await waitUntil("the edit", SOON_MS, async () => (await readFile(file, "utf8")) === "new");
    await pods.delete("after");
    await pods.gone("after", SOON_MS);
  });

  test("[13.2] pods waiting for unresponsive volumes can be deleted", async () => {
    for (const index of DEAD.keys()) await pods.delete(`stuck-${index}`);
    for (const index of DEAD.keys()) await pods.gone(`stuck-${index}`);
    assert.ok(isRunning(pods.versions("before").at(-1)?.pod ?? {}), "the first pod has run all the time");
  });
});
