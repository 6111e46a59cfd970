/** The node's loops and nothing else of the agent, against a real API server and a real containerd. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseThresholds } from "../../src/app/options/eviction-thresholds.ts";
import { parseIp } from "../../src/base/ip-address.ts";
import { formatQuantity, parseQuantity } from "../../src/base/quantity.ts";
import { LatestCell } from "../../src/concurrency/latest-cell.ts";
import { Turns } from "../../src/concurrency/turns.ts";
import { runOwnNode } from "../../src/controllers/cluster-objects/own-node.ts";
import { runPressure } from "../../src/controllers/eviction/pressure.ts";
import { runImageList } from "../../src/controllers/images/image-list.ts";
import { runCsiNode } from "../../src/controllers/node/csi-node.ts";
import { runLease } from "../../src/controllers/node/lease.ts";
import { runNodeStatus } from "../../src/controllers/node/node-status.ts";
import { runPodCidr } from "../../src/controllers/node/pod-cidr.ts";
import { runRegistration } from "../../src/controllers/node/register.ts";
import { SnapshotReader } from "../../src/controllers/node/snapshot.ts";
import { watchRuntimeHealth } from "../../src/controllers/pleg/runtime-health.ts";
import type { Pressure } from "../../src/domain/node/conditions.ts";
import type { RegistrationOptions } from "../../src/domain/node/initial-node.ts";
import { NO_HOLDS, type NodeHolds, type NodeOptions } from "../../src/domain/node/node-status.ts";
import type { NodeSync, OwnNode, Registration } from "../../src/domain/node/own-node.ts";
import { NO_PRESSURE } from "../../src/domain/node/pressure.ts";
import { RUNTIME_UNKNOWN, type RuntimeHealth } from "../../src/domain/node/runtime-health.ts";
import { nodeAllocatable } from "../../src/domain/resources/node-allocatable.ts";
import type { TiersState } from "../../src/domain/resources/tiers-state.ts";
import type { Image } from "../../src/domain/runtime/image.ts";
import type { Machine } from "../../src/ports/machine.ts";
import { connectCri } from "../../src/wire/cri/client.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { hostRandom } from "../../src/wire/host/random.ts";
import { createKubeApi } from "../../src/wire/kube-api/client.ts";
import type { Cluster, ClusterNode } from "../cluster/cluster.ts";

/** As the harness configures the Go kubelet. */
const EVICTION_HARD = { "memory.available": "1%", "nodefs.available": "1%", "imagefs.available": "1%" };

const RESERVED = new Map([
  ["memory.available", { kind: "fraction", fraction: 0.01 }],
  ["nodefs.available", { kind: "fraction", fraction: 0.01 }],
] as const);

export interface NodeAgentOptions {
  readonly cluster: Cluster;
  readonly node: ClusterNode;
  readonly machine: Machine;
  /** Left out: the node's own identity. */
  readonly user?: { readonly name: string; readonly groups: readonly string[] };
  readonly change?: Partial<NodeOptions>;
  readonly registration?: Partial<RegistrationOptions>;
  readonly withCsiNode?: boolean;
  readonly evictionHard?: Readonly<Record<string, string>>;
}

export interface NodeAgent {
  readonly events: readonly string[];
  readonly troubles: readonly string[];
  readonly podCidrs: readonly string[];
  readonly nodeSynced: LatestCell<NodeSync>;
  readonly nodeHolds: LatestCell<NodeHolds>;
  readonly startedMs: number;
  stop(): Promise<void>;
}

export async function startNodeAgent(options: NodeAgentOptions): Promise<NodeAgent> {
  const { cluster, node, machine, user, change, evictionHard = EVICTION_HARD } = options;
  const { name = `system:node:${node.name}`, groups = ["system:nodes"] } = user ?? {};
  const { certFile, keyFile } = await cluster.api.clientCertificate(name, groups);
  const [ca, certificatePem, keyPem] = await Promise.all([
    readFile(cluster.api.caFile, "utf8"),
    readFile(certFile, "utf8"),
    readFile(keyFile, "utf8"),
  ]);
  const credentials = { kind: "certificate", certificatePem, keyPem } as const;
  const connection = { url: cluster.api.url, ca, credentials };
  const userAgent = "kubelet/v1.36.4 (linux/amd64) kubernetes/deckhand";
  const client = { connection, clock: hostClock, random: hostRandom, userAgent };
  const api = createKubeApi(client);
  const heartbeats = createKubeApi({ ...client, requestLimitMs: 10_000 });
  const cri = connectCri({ endpoint: node.criEndpoint, onMalformed: () => {} }, hostClock);
  const stop = new AbortController();
  const events: string[] = [];
  const troubles: string[] = [];
  const podCidrs: string[] = [];
  const cells = {
    runtimeHealth: new LatestCell<RuntimeHealth>(RUNTIME_UNKNOWN),
    pressure: new LatestCell<Pressure>(NO_PRESSURE),
    ownNode: new LatestCell<OwnNode>({ kind: "unknown" }),
    nodeImages: new LatestCell<readonly Image[] | undefined>(undefined),
    volumesInUse: new LatestCell<readonly string[] | undefined>(undefined),
    nodeHolds: new LatestCell<NodeHolds>(NO_HOLDS),
    tiers: new LatestCell<TiersState>({ kind: "ready" }),
    nodeRegistered: new LatestCell<Registration>({ kind: "pending" }),
    nodeSynced: new LatestCell<NodeSync>({ kind: "never" }),
  };
  const parts = {
    ...cells,
    machine,
    clock: hostClock,
    random: hostRandom,
    rootFolder: join(node.folder, "lib"),
    options: nodeOptions(node, change),
    events: {
      emit: (_: unknown, type: string, reason: string, message: string) =>
        void events.push(`${type} ${reason} ${message}`),
    },
    log: {
      info: () => {},
      error: (message: string, error: unknown) => void troubles.push(`${message}: ${String(error)}`),
    },
    cgroups: { version: 1 as const },
    images: cri.images,
    runtime: {
      ...cri.runtime,
      setPodCidr: async (cidr: string, signal: AbortSignal) => {
        await cri.runtime.setPodCidr(cidr, signal);
        podCidrs.push(cidr);
      },
    },
    watch: new Turns(hostClock).expect("any", 0),
    onRepeatedFailure: () => {},
  };
  const snapshots = new SnapshotReader(parts);
  const registration = {
    labels: {},
    taints: [],
    providerId: "",
    controllerAttach: true,
    resetExtendedResources: false,
    ...options.registration,
  };
  const startedMs = performance.now();
  const running = Promise.all([
    watchRuntimeHealth({ ...parts, lastListedMs: () => hostClock.monotonicMs() }, stop.signal),
    runImageList(parts, stop.signal),
    runOwnNode({ ...parts, api, nodeName: node.name }, stop.signal),
    runRegistration({ ...parts, api, snapshots, registration, registerNode: true }, stop.signal),
    runNodeStatus(
      { ...parts, api: heartbeats, snapshots, cadence: { updateEveryMs: 10_000, reportEveryMs: 300_000 } },
      stop.signal,
    ),
    runLease({ ...parts, api: heartbeats, options: { nodeName: node.name, leaseDurationSeconds: 40 } }, stop.signal),
    runPodCidr(parts, stop.signal),
    options.withCsiNode === true ? runCsiNode({ ...parts, api, nodeName: node.name }, stop.signal) : undefined,
    runPressure(
      {
        ...parts,
        cgroups: new LatestCell(undefined),
        options: {
          enforcesPods: false,
          rootFolder: parts.rootFolder,
          imageFolderEveryMs: 300_000,
          thresholds: parseThresholds(evictionHard),
          holdMs: 300_000,
        },
      },
      stop.signal,
    ),
  ]);
  return {
    ...cells,
    events,
    troubles,
    podCidrs,
    startedMs,
    async stop() {
      stop.abort(new Error("the test is over"));
      await running;
      await Promise.all([api.close(), heartbeats.close()]);
      cri.close();
    },
  };
}

/** As the harness configures the Go kubelet. */
function nodeOptions(node: ClusterNode, change: Partial<NodeOptions> = {}): NodeOptions {
  const address = parseIp(node.address);
  return {
    name: node.name,
    hostname: node.name,
    nodeIps: address === undefined ? [] : [address],
    externalCloud: false,
    maxPods: 250,
    podsPerCore: 0,
    kubeletVersion: "v1.36.4",
    architecture: "amd64",
    kubeletPort: 10250,
    imagesMax: 50,
    localStorage: true,
    featureGates: {},
    allocatableOf: (capacity) => {
      const amounts = new Map(Object.entries(capacity).map(([name, amount]) => [name, parseQuantity(amount)]));
      const none = { systemReserved: new Map(), kubeReserved: new Map() };
      const left = nodeAllocatable(amounts, none, RESERVED);
      return Object.fromEntries([...left].map(([name, amount]) => [name, formatQuantity(amount)]));
    },
    ...change,
  };
}
