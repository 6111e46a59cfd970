/**
 * Compares Deckhand's Node, Lease and CSINode with the Go kubelet's recorded ones, field by field. Values that depend
 * on the machine are compared with the machine itself, so that a recording holds on every machine.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { neutralJson } from "../golden/answers.ts";
import { Recording } from "../golden/recording.ts";
import { comparisonMode, deckhandTest, NODES, SIDES, type Side } from "../golden/sides.ts";
import { imagesOfRuntime, type MachineFacts, machineFacts, neutralImages } from "./node-differential/machine-facts.ts";
import { neutralDescription, neutralLeaves } from "./node-differential/neutral.ts";

const recording = Recording.open("node-differential");

/** The Go kubelet warns about an image file system that it has not measured yet; Deckhand measures first. */
const ONLY_GO = /^Warning InvalidDiskCapacity /;

/**
 * Deckhand also reports that a new Node is not ready yet; the Go kubelet reports nothing for the first value of that
 * condition.
 */
const ONLY_DECKHAND = /^Normal NodeNotReady /;

describe("Node, Lease and CSINode as under the Go kubelet", () => {
  let cluster: Cluster;
  const facts = new Map<Side, MachineFacts>();

  const nodeOf = (side: Side): ClusterNode =>
    cluster.nodes.find(({ name }) => name === NODES[side]) ?? assert.fail(`no node for ${side}`);
  const factsOf = (side: Side) => facts.get(side) ?? assert.fail(`no facts for ${side}`);

  before(async () => {
    cluster = await startCluster({
      controlPlane: "full",
      nodes: SIDES.map((agent) => ({ agent })),
    });
    for (const side of SIDES) facts.set(side, await machineFacts(nodeOf(side)));
    // The Go kubelet's images come with its second report, and the controllers add their labels, taints and
    // annotations.
    for (const side of SIDES) {
      await waitUntil("the Node to be ready", 60_000, async () => {
        const { status, spec } = await fullNode(side);
        return status.conditions.some(isReady) && (status.images?.length ?? 0) > 0 && spec.taints === undefined;
      });
    }
    for (const side of SIDES) await comesToRest(() => node(side));
  });

  after(() => cluster.down());

  const get = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse(await cluster.kubectl("get", ...args, "-o", "json"));
  const fullNode = async (side: Side) => (await get("node", NODES[side])) as FullNode;

  const node = async (side: Side) => {
    const { status, ...others } = await fullNode(side);
    const { images: _, ...rest } = status;
    return neutralLeaves({ ...others, status: rest }, nodeOf(side), factsOf(side));
  };

  test("[3.2] [3.6] [3.8] every field of the Node equals the Go kubelet's, except values that depend on the machine", async () => {
    await recording.check("node", node);
  });

  test("[3.3] [3.9] [3.17] the Node has the attach-detach annotation, the kubelet port, and runtime handlers and features", async () => {
    for (const side of SIDES) {
      const { metadata, status } = await fullNode(side);
      assert.equal(metadata.annotations["volumes.kubernetes.io/controller-managed-attach-detach"], "true");
      assert.deepEqual(status.daemonEndpoints, { kubeletEndpoint: { Port: 10250 } });
      assert.deepEqual(
        status.runtimeHandlers.map(({ name }) => name),
        ["", "runc", "test-handler"],
      );
      assert.deepEqual(status.features, { supplementalGroupsPolicy: true });
    }
  });

  test("[3.5] [3.18] the Node has the operator's InternalIP and then its Hostname, and declares the Go kubelet's features", async () => {
    for (const side of SIDES) {
      const { name, address } = nodeOf(side);
      const { status } = await fullNode(side);
      assert.deepEqual(status.addresses, [
        { type: "InternalIP", address },
        { type: "Hostname", address: name },
      ]);
    }
    await recording.check("declared features", async (side) => (await fullNode(side)).status.declaredFeatures);
  });

  test("[3.7] [3.10] allocatable and images equal the Go kubelet's exactly", async () => {
    await recording.check("allocatable", async (side) => {
      const { status } = await fullNode(side);
      assert.notDeepEqual(status.allocatable, status.capacity);
      return neutralLeaves({ status: { allocatable: status.allocatable } }, nodeOf(side), factsOf(side));
    });
    await recording.check("images", async (side) =>
      neutralImages((await fullNode(side)).status.images ?? [], await imagesOfRuntime(nodeOf(side))),
    );
  });

  test("[3.15] every field of the lease equals the Go kubelet's", async () => {
    const lease = (side: Side) => get("lease", NODES[side], "--namespace=kube-node-lease");
    const isThere = (side: Side) =>
      lease(side).then(
        () => true,
        () => false,
      );
    for (const side of SIDES) await waitUntil("the lease", 30_000, () => isThere(side));
    await recording.check("lease", async (side) => neutralLeaves(await lease(side), nodeOf(side), factsOf(side)));
  });

  test("[13.26] every field of the CSINode equals the Go kubelet's", () =>
    recording.check("CSINode", async (side) =>
      neutralLeaves(await get("csinode", NODES[side]), nodeOf(side), factsOf(side)),
    ));

  test("[3.11] kubectl describe node prints the same for both, line by line", () =>
    recording.check("description", async (side) => {
      const text = await cluster.kubectl("describe", "node", NODES[side], "--show-events=false");
      return neutralDescription(text, nodeOf(side), factsOf(side));
    }));

  test("[3.16] [3.21] [23.3] startup events have the Go kubelet's reasons and messages", async () => {
    await recording.check("events", async (side) => {
      const neutral = new Set((await eventsOf(side)).map((text) => text.replaceAll(NODES[side], "<node>")));
      const leftOut = { go: ONLY_GO, deckhand: ONLY_DECKHAND }[side];
      return [...neutral].filter((text) => !leftOut.test(text)).toSorted();
    });
    if (comparisonMode !== "record") figure("values compared", recording.compared, "values");
  });

  async function eventsOf(side: Side): Promise<readonly string[]> {
    const { items } = (await get("events", "--field-selector=involvedObject.kind=Node")) as FullEvents;
    const own = items.filter(
      ({ involvedObject, source }) => involvedObject.name === NODES[side] && source.component === "kubelet",
    );
    assert.ok(own.length >= 5, `${side} sent ${own.length} events`);
    return own.map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  }

  deckhandTest("[13.26] [27.4.5] drivers in the CSINode survive an agent restart", async () => {
    const { name } = nodeOf("deckhand");
    const drivers = [{ name: "disk.example.com", nodeID: "d-1", topologyKeys: null }];
    await cluster.kubectl("patch", "csinode", name, "--type=merge", "-p", JSON.stringify({ spec: { drivers } }));
    const before = (await get("csinode", name)) as FullCsiNode;
    assert.equal(before.spec.drivers[0]?.name, "disk.example.com");
    const heartbeat = async () => (await fullNode("deckhand")).status.conditions.find(isReady)?.lastHeartbeatTime;
    const lastHeartbeat = await heartbeat();
    await cluster.component(`kubelet@${name}`).restart();
    await waitUntil("the node to be ready again", 30_000, async () => {
      const now = await heartbeat();
      return now !== undefined && now !== lastHeartbeat;
    });
    assert.deepEqual(await get("csinode", name), before);
  });
});

const isReady = ({ type, status }: Condition): boolean => type === "Ready" && status === "True";

const REST_MS = 5_000;

/**
 * Waits until the Node equals the recorded one or, while recording, until the Node has not changed for some seconds.
 * The comparison then reports the differences.
 */
async function comesToRest(node: () => Promise<unknown>): Promise<void> {
  const endMs = performance.now() + 30_000;
  for (let last = ""; performance.now() < endMs; ) {
    const now = await node();
    const text = JSON.stringify(neutralJson(now));
    if (comparisonMode === "record" ? text === last : recording.matches("node", now)) return;
    last = text;
    await pause(comparisonMode === "record" ? REST_MS : 200);
  }
}

interface FullCsiNode {
  readonly spec: { readonly drivers: readonly { readonly name: string }[] };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly lastHeartbeatTime: string;
}

interface FullNode {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: unknown };
  readonly status: {
    readonly addresses: unknown;
    readonly allocatable: unknown;
    readonly capacity: unknown;
    readonly conditions: readonly Condition[];
    readonly daemonEndpoints: unknown;
    readonly declaredFeatures?: unknown;
    readonly features: unknown;
    readonly images?: readonly { readonly names: readonly string[]; readonly sizeBytes: number }[];
    readonly runtimeHandlers: readonly { readonly name: string }[];
  };
}

interface FullEvents {
  readonly items: readonly {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
    readonly source: { readonly component: string };
    readonly involvedObject: { readonly name: string };
  }[];
}
