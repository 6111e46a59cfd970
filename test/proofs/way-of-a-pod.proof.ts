/** Many pods on one Deckhand node at whole size: 110 pods at once, a Deployment of 50, three idle minutes. */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { manyPods } from "../integration/way-of-a-pod/many-pods.ts";
import { ClusterPods } from "../support/cluster-pods.ts";

let cluster: Cluster;
let pods: ClusterPods;

before(async () => {
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand", criProxy: true }] });
  pods = await ClusterPods.of(cluster);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

const world = () => {
  const node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  return { cluster, pods, node, proxy: node.criProxy ?? assert.fail("the node has a proxy") };
};

manyPods(world, { isAlone: true, replicas: 50, crowd: 110, settleMs: 20_000, idleMs: 3 * 60_000 });
