/**
 * Our Node beside the Go kubelet's, in one cluster on one machine, field by field: whatever differs is in the table with its reason, or
 * the test fails; so does a reason that nothing needs any more.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { boxedMachine } from "./boxed-machine.ts";
import { type NodeAgent, startNodeAgent } from "./node-agent.ts";

/** "maybe" for what may by chance be equal. */
type Difference = readonly [path: RegExp, why: string, maybe?: "maybe"];

const BOTH: readonly Difference[] = [
  [/^metadata\.(uid|resourceVersion|creationTimestamp)$/, "each object has its own"],
  [/^metadata\.name$/, "the name of the node"],
];

const NODE: readonly Difference[] = [
  ...BOTH,
  [/^metadata\.labels\.kubernetes\.io\/hostname$/, "the name of the node"],
  [/^status\.addresses\.(InternalIP|Hostname)$/, "the node's own address and name"],
  [/^status\.conditions\.\w+\.last(Heartbeat|Transition)Time$/, "the two nodes started at different moments", "maybe"],
];

const LEASE: readonly Difference[] = [
  ...BOTH,
  [/^metadata\.ownerReferences\.0\.(name|uid)$/, "each is owned by its own Node"],
  [/^spec\.holderIdentity$/, "each is held by its own node"],
  [/^spec\.renewTime$/, "renewed at different moments; ours to the millisecond, as the clock of the platform goes"],
];

const CSI_NODE: readonly Difference[] = [
  ...BOTH,
  [/^metadata\.ownerReferences\.0\.(name|uid)$/, "each is owned by its own Node"],
];

/** One entry per leaf; lists of things with a type by their type. */
function leaves(value: unknown, path = ""): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null) return new Map([[path, value]]);
  return new Map(
    Object.entries(value).flatMap(([key, inner]: readonly [string, unknown]) => {
      const type: unknown = Array.isArray(value) ? (inner as { readonly type?: unknown } | null)?.type : undefined;
      const name = typeof type === "string" ? type : key;
      const below = path === "" ? name : `${path}.${name}`;
      const isAddress = path === "status.addresses";
      return [...leaves(isAddress ? (inner as { readonly address: unknown }).address : inner, below)];
    }),
  );
}

/** The paths that differ, and that no line of the table explains; and the lines that explain nothing. */
function unexplained(ours: unknown, theirs: unknown, table: readonly Difference[]): readonly string[] {
  const [a, b] = [leaves(ours), leaves(theirs)];
  const paths = [...new Set([...a.keys(), ...b.keys()])].filter((path) => a.get(path) !== b.get(path));
  const open = paths.filter((path) => !table.some(([pattern]) => pattern.test(path)));
  const idle = table.filter(([pattern, , maybe]) => maybe === undefined && !paths.some((path) => pattern.test(path)));
  return [
    ...open.map((path) => `${path}: ours ${JSON.stringify(a.get(path))}, Go's ${JSON.stringify(b.get(path))}`),
    ...idle.map(([pattern]) => `nothing differs at ${pattern.source} any more`),
  ];
}

describe("two nodes side by side", () => {
  let cluster: Cluster;
  let theirs: ClusterNode;
  let ours: ClusterNode;
  let agent: NodeAgent;

  before(async () => {
    cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "go" }, { agent: "none" }] });
    [theirs, ours] = cluster.nodes as [ClusterNode, ClusterNode];
    agent = await startNodeAgent({ cluster, node: ours, machine: boxedMachine(ours), withCsiNode: true });
    // The Go kubelet's images come with its second report, and the controllers put their labels, taints and annotations.
    await waitUntil("both nodes to be as they stay", 60_000, async () => {
      const nodes = [await get("node", theirs.name), await get("node", ours.name)] as readonly FullNode[];
      return nodes.every(({ status, spec }) => {
        const ready = status.conditions.some((condition) => condition.type === "Ready" && condition.status === "True");
        return ready && (status.images?.length ?? 0) > 0 && spec.taints === undefined;
      });
    });
  });

  after(async () => {
    await agent.stop();
    await cluster.down();
  });

  const get = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse(await cluster.kubectl("get", ...args, "-o", "json"));

  test("[3.2] [3.6] [3.8] every field of the Node equals the Go kubelet's, but for what the table explains", async (t) => {
    const [a, b] = [await get("node", ours.name), await get("node", theirs.name)];
    t.diagnostic(`${leaves(a).size} fields of ours beside ${leaves(b).size} of the Go kubelet's`);
    assert.deepEqual(unexplained(a, b, NODE), []);
    assert.deepEqual(agent.troubles, []);
  });

  test("[3.3] [3.9] [3.17] annotations, the kubelet's port and the runtime's handlers are there", async () => {
    const { metadata, status } = (await get("node", ours.name)) as FullNode;
    assert.equal(metadata.annotations["volumes.kubernetes.io/controller-managed-attach-detach"], "true");
    assert.deepEqual(status.daemonEndpoints, { kubeletEndpoint: { Port: 10250 } });
    assert.deepEqual(
      status.runtimeHandlers.map(({ name }) => name),
      ["", "runc", "test-handler"],
    );
    assert.deepEqual(status.features, { supplementalGroupsPolicy: true });
  });

  test("[3.5] [3.18] the address is the operator's with the name after it, and the same features are declared", async () => {
    const { status } = (await get("node", ours.name)) as FullNode;
    assert.deepEqual(status.addresses, [
      { type: "InternalIP", address: ours.address },
      { type: "Hostname", address: ours.name },
    ]);
    const go = (await get("node", theirs.name)) as FullNode;
    assert.deepEqual(status.declaredFeatures, go.status.declaredFeatures);
  });

  test("[3.7] [3.10] allocatable and images equal the Go kubelet's to the digit", async () => {
    const [a, b] = [await get("node", ours.name), await get("node", theirs.name)] as [FullNode, FullNode];
    assert.deepEqual(a.status.allocatable, b.status.allocatable);
    assert.notDeepEqual(a.status.allocatable, a.status.capacity);
    assert.deepEqual(a.status.images, b.status.images);
  });

  test("[3.15] every field of the lease equals the Go kubelet's, but for what the table explains", async () => {
    const lease = (name: string) => get("lease", name, "--namespace=kube-node-lease");
    await waitUntil("the Go kubelet's lease", 30_000, () =>
      lease(theirs.name).then(
        () => true,
        () => false,
      ),
    );
    assert.deepEqual(unexplained(await lease(ours.name), await lease(theirs.name), LEASE), []);
  });

  test("[13.26] every field of the CSINode equals the Go kubelet's, but for what the table explains", async () => {
    const csiNode = ({ name }: ClusterNode) => get("csinode", name);
    assert.deepEqual(unexplained(await csiNode(ours), await csiNode(theirs), CSI_NODE), []);
  });

  test("[3.11] kubectl describe says the same of both, line by line", async () => {
    const described = async ({ name }: ClusterNode) => {
      const text = await cluster.kubectl("describe", "node", name, "--show-events=false");
      // Dates, addresses and names are each node's own; the pods differ by the proxy, which runs outside of pods in both.
      return text
        .replaceAll(/[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} \+\d{4}/g, "<date>")
        .replaceAll(/\b198\.19\.\d+\.\d+\b/g, "<address>")
        .replaceAll(new RegExp(`\\b${name}\\b`, "g"), "<name>")
        .split("\n");
    };
    assert.deepEqual(await described(ours), await described(theirs));
  });

  test("[3.16] [3.21] [23.3] the events of the start carry the Go kubelet's reasons and texts", async () => {
    const { items } = (await get("events", "--field-selector=involvedObject.kind=Node")) as FullEvents;
    const of = (name: string, texts: readonly string[]) =>
      new Set(texts.map((text) => text.replaceAll(name, "<name>")));
    const go = items
      .filter(({ involvedObject, source }) => involvedObject.name === theirs.name && source.component === "kubelet")
      .map(({ type, reason, message }) => `${type} ${reason} ${message}`);
    const told = of(ours.name, agent.events);
    // What the Go kubelet tells of parts that are not the node's loops.
    const others =
      /^(Normal NodeAllocatableEnforced|Warning (InvalidDiskCapacity|CheckLimitsForResolvConf|PossibleMemory))/;
    const missing = [...of(theirs.name, go)].filter((text) => !told.has(text) && !others.test(text));
    assert.deepEqual(missing, []);
    assert.ok(go.length >= 5, `the Go kubelet told ${go.length} events`);
  });

  test("[13.26] [27.4.5] what a driver wrote into the CSINode outlives the agent", async () => {
    const drivers = [{ name: "disk.example.com", nodeID: "d-1", topologyKeys: null }];
    await cluster.kubectl("patch", "csinode", ours.name, "--type=merge", "-p", JSON.stringify({ spec: { drivers } }));
    const before = (await get("csinode", ours.name)) as FullCsiNode;
    assert.equal(before.spec.drivers[0]?.name, "disk.example.com");
    await agent.stop();
    agent = await startNodeAgent({ cluster, node: ours, machine: boxedMachine(ours), withCsiNode: true });
    await waitUntil("the node to be ready again", 30_000, async () => agent.nodeHolds.value.storage === undefined);
    assert.deepEqual(await get("csinode", ours.name), before);
  });
});

interface FullCsiNode {
  readonly spec: { readonly drivers: readonly { readonly name: string }[] };
}

interface FullNode {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: unknown };
  readonly status: {
    readonly addresses: unknown;
    readonly allocatable: unknown;
    readonly capacity: unknown;
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly daemonEndpoints: unknown;
    readonly declaredFeatures?: unknown;
    readonly features: unknown;
    readonly images?: readonly unknown[];
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
