/**
 * Single pods on a Deckhand node: their published status, their files on disk, how they terminate, and in which order.
 */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { ClusterPods } from "../support/cluster-pods.ts";
import { deadContainers } from "./way-of-a-pod/dead-containers.ts";
import { endings } from "./way-of-a-pod/endings.ts";
import { manyPods } from "./way-of-a-pod/many-pods.ts";
import { neverAgain } from "./way-of-a-pod/never-again.ts";
import { onTheNode } from "./way-of-a-pod/on-the-node.ts";
import { published } from "./way-of-a-pod/published.ts";
import { troubles } from "./way-of-a-pod/troubles.ts";
import type { World } from "./way-of-a-pod/world.ts";

let cluster: Cluster;
let pods: ClusterPods;
let node: ClusterNode;

before(async () => {
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand", criProxy: true }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  pods = await ClusterPods.of(cluster);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

const world = (): World => ({ cluster, pods, node, proxy: node.criProxy ?? assert.fail("the node has a proxy") });

// First, because it counts every pod on the node.
manyPods(world, { isAlone: false, replicas: 10, crowd: 30, settleMs: 8_000, idleMs: 20_000 });
published(world);
onTheNode(world);
endings(world);
troubles(world);
neverAgain(world);
// Last, because it starts the agent with other flags.
deadContainers(world);
