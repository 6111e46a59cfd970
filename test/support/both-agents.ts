/** One cluster with one node per agent that this mode of comparison runs: the Go kubelet, Deckhand, or both. */
import assert from "node:assert/strict";
import { type Cluster, type ClusterNode, type NodeOptions, startCluster } from "../cluster/cluster.ts";
import type { CriProxy } from "../cluster/cri-proxy.ts";
import type { AgentOptions } from "../cluster/node.ts";
import { NODES, SIDES, type Side } from "../golden/sides.ts";
import { ClusterPods } from "./cluster-pods.ts";

export class BothAgents {
  readonly cluster: Cluster;
  readonly pods: ClusterPods;

  private constructor(cluster: Cluster, pods: ClusterPods) {
    this.cluster = cluster;
    this.pods = pods;
  }

  /** `criProxy`: record all CRI calls through a proxy. `disks`: file systems of each node's own. */
  static async start(
    options: AgentOptions = {},
    { criProxy = true, disks = [] }: Pick<NodeOptions, "criProxy" | "disks"> = {},
  ): Promise<BothAgents> {
    const cluster = await startCluster({
      controlPlane: "full",
      nodes: SIDES.map((agent) => ({ agent, criProxy, disks, options })),
    });
    return new BothAgents(cluster, await ClusterPods.of(cluster));
  }

  node(side: Side): ClusterNode {
    return this.cluster.nodes.find(({ name }) => name === NODES[side]) ?? assert.fail(`no node for ${side}`);
  }

  proxy(side: Side): CriProxy {
    return this.node(side).criProxy ?? assert.fail("the node has a proxy");
  }

  async end(): Promise<void> {
    await this.pods.close();
    await this.cluster.down();
  }
}
