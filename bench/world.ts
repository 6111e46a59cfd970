/**
 * Nodes on one API server, each with its own containerd. Agents take turns on each node. The bare client never runs
 * beside an agent, because an agent removes sandboxes it does not know.
 */
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pods } from "../src/api/resources.ts";
import { isNotFound } from "../src/ports/api-error.ts";
import { type CriClient, connectCri } from "../src/wire/cri/client.ts";
import { hostClock } from "../src/wire/host/clock.ts";
import type { KubeApi } from "../src/wire/kube-api/client.ts";
import { makeCgroup, procsFiles } from "../test/cluster/cgroups.ts";
import { type Cluster, type ClusterNode, startCluster } from "../test/cluster/cluster.ts";
import type { Program } from "../test/cluster/control-plane.ts";
import { nodeAgent } from "../test/cluster/node.ts";
import { buildParts } from "../test/cluster/parts.ts";
import { isAlive, launch, sendSignal } from "../test/cluster/processes.ts";
import { waitReady } from "../test/cluster/ready.ts";
import type { ComponentRecord } from "../test/cluster/record.ts";
import { waitUntil } from "../test/cluster/wait.ts";
import { clientOf, newNamespace } from "../test/integration/api-world.ts";
import type { Build } from "../tools/build/commit.ts";
import { NODE_OPTIONS } from "../tools/build/executable.ts";
import { buildProgram } from "../tools/build/program.ts";
import { type AgentName, type BuildName, slugOf } from "./candidates.ts";
import { ExitTrigger } from "./exit-trigger.ts";
import { PodWatcher } from "./pod-watcher.ts";
import { groupCpuMs } from "./usage.ts";

export const forever: AbortSignal = new AbortController().signal;

export interface Agent {
  readonly name: AgentName;
  readonly pid: number;
  readonly launchedMs: number;
  readonly rootDirectory: string;
  /** Sends SIGTERM and resolves when the process has exited. Its pods stay. */
  stop(): Promise<void>;
}

export interface World {
  readonly cluster: Cluster;
  readonly node: ClusterNode;
  readonly namespace: string;
  readonly api: KubeApi;
  readonly cri: CriClient;
  readonly watcher: PodWatcher;
  readonly exitTrigger: ExitTrigger;
  /** Resolves when the agent listens; `launchedMs` is taken before. `configuration` overrides the usual fields. */
  /** `flags`: further flags. */
  startAgent(name: AgentName, configuration?: Configuration, flags?: readonly string[]): Promise<Agent>;
  /** The same for the installed program: Deckhand's executable. */
  startInstalled(name: AgentName): Promise<Agent>;
  /** The runtime's containers keep running. */
  stopRuntime(): Promise<void>;
  startRuntime(): Promise<void>;
  /** CPU of containerd, its shims, the network plugins and all pods. */
  runtimeCpuMs(): Promise<number>;
  /** Call it without an agent: no pod, sandbox or container is left afterwards. */
  clean(): Promise<void>;
  end(): Promise<void>;
}

export interface WorldOptions {
  /** Node's flags for profilers; they precede the name of the bundle. */
  readonly nodeFlags: readonly string[];
  /** The build of an earlier commit, if one is measured. */
  readonly before: Build | undefined;
  readonly report: (line: string) => void;
}

type Builds = Readonly<Partial<Record<BuildName, Build>>>;

type Configuration = Readonly<Record<string, unknown>>;
type Programs = ReadonlyMap<AgentName, Program>;

const STOP_LIMIT_MS = 30_000;

/** Starts one cluster with this many nodes, makes a world for each, and shuts all of them down afterwards. */
export async function inWorlds<T>(
  nodes: number,
  { nodeFlags, before, report }: WorldOptions,
  act: (worlds: readonly World[]) => Promise<T>,
): Promise<T> {
  const wanted = Array.from({ length: nodes }, () => ({ agent: "none" }) as const);
  const cluster = await startCluster({ controlPlane: "api", nodes: wanted, report });
  const worlds: World[] = [];
  try {
    const { bundle, executable } = await buildProgram(join(cluster.layout.directory, "bundle"));
    const deckhand: Build = { node: [process.execPath, ...NODE_OPTIONS], bundle, executable };
    const builds: Builds = before === undefined ? { deckhand } : { deckhand, before, "before again": before };
    for (const build of new Set(Object.values(builds))) {
      // As in the package: without it, Node would first try to parse the bundle as CommonJS at every start.
      await writeFile(join(dirname(build.bundle), "package.json"), JSON.stringify({ type: "module" }));
    }
    for (const node of cluster.nodes) worlds.push(await openWorld(cluster, node, builds, nodeFlags));
    return await act(worlds);
  } finally {
    for (const world of worlds) await world.end();
    await cluster.down();
  }
}

async function openWorld(
  cluster: Cluster,
  node: ClusterNode,
  builds: Builds,
  nodeFlags: readonly string[],
): Promise<World> {
  const runtimeGroup = await groupOfRuntime(cluster, node);
  const programs = await agentPrograms(cluster, node, builds, (build) => [...build.node, ...nodeFlags, build.bundle]);
  const installed = await agentPrograms(cluster, node, builds, ({ executable }) => [executable]);
  const usual = await usualConfiguration(node);
  // A watch that ends within a run would delay the times of changes during its restart.
  const api = await clientOf(cluster, { watchSeconds: { min: 86_400, max: 86_400 } });
  const cri = connectCri({ endpoint: node.criEndpoint, onMalformed: refuse }, hostClock);
  const namespace = await newNamespace(api);
  const watcher = new PodWatcher(api, node.name);
  const exitTrigger = await ExitTrigger.open(cluster.layout.machineAddress);
  return {
    cluster,
    node,
    namespace,
    api,
    cri,
    watcher,
    exitTrigger,
    startAgent: async (name, configuration = {}, flags = []) => {
      await writeFile(configurationFile(node), JSON.stringify({ ...usual, ...configuration }));
      return startAgent(name, programs, { cluster, node }, flags);
    },
    startInstalled: async (name) => {
      await writeFile(configurationFile(node), JSON.stringify(usual));
      return startAgent(name, installed, { cluster, node });
    },
    stopRuntime: () => cluster.component(`containerd@${node.name}`).end(),
    startRuntime: async () => {
      await cluster.component(`containerd@${node.name}`).restart();
      await groupOfRuntime(cluster, node);
    },
    runtimeCpuMs: async () => (await groupCpuMs(runtimeGroup)) + (await groupCpuMs(node.cgroupParent)),
    clean: async () => {
      await removePods(api, namespace, watcher);
      await removeSandboxes(cri);
      watcher.forget();
    },
    end: async () => {
      watcher.close();
      await exitTrigger.close();
      cri.close();
      await api.close();
    },
  };
}

const refuse = (detail: string): never => {
  throw new Error(`containerd answered what cannot be true: ${detail}`);
};

/** The harness runs containerd in one cgroup with the control plane; counting its CPU needs a separate cgroup. */
async function groupOfRuntime(cluster: Cluster, node: ClusterNode): Promise<string> {
  const group = `${cluster.layout.cgroupParent}/runtime-${node.name}`;
  await makeCgroup(group);
  const { pid } = cluster.component(`containerd@${node.name}`);
  for (const file of await procsFiles(group)) await writeFile(file, String(pid));
  return group;
}

const configurationFile = (node: ClusterNode) => join(node.directory, "kubelet.json");

/** The harness's configuration, with healthz on an address that this process can reach. */
async function usualConfiguration(node: ClusterNode): Promise<Configuration> {
  const configuration = JSON.parse(await readFile(configurationFile(node), "utf8")) as Configuration;
  return { ...configuration, healthzBindAddress: node.address };
}

/**
 * Each agent has its own root directory on the node, so each starts from the journal that its own turns wrote. In a
 * shared journal an earlier build would skip the records that only a later build knows, and its starts would not be
 * comparable.
 */
const rootDirectoryOf = (name: AgentName) => `/var/lib/kubelet-${slugOf(name)}`;

/** All agents read one configuration file. */
async function agentPrograms(
  { layout }: Cluster,
  node: ClusterNode,
  builds: Builds,
  commandOf: (build: Build) => readonly string[],
): Promise<Programs> {
  const parts = await buildParts();
  const flagsOf = (name: AgentName) => {
    const root = rootDirectoryOf(name);
    return [`--root-dir=${root}`, `--cert-dir=${root}/pki`];
  };
  const programs = new Map<AgentName, Program>();
  programs.set("go", await nodeAgent("go", layout, node, parts, { flags: flagsOf("go") }));
  for (const [name, build] of Object.entries(builds) as [BuildName, Build][]) {
    const options = { deckhand: commandOf(build), flags: flagsOf(name) };
    programs.set(name, await nodeAgent("deckhand", layout, node, parts, options));
  }
  return programs;
}

async function startAgent(
  name: AgentName,
  programs: Programs,
  { cluster, node }: { readonly cluster: Cluster; readonly node: ClusterNode },
  flags: readonly string[] = [],
): Promise<Agent> {
  const program = programs.get(name);
  if (program === undefined) throw new Error(`no build of "${name}" was made for this run`);
  const launchedMs = performance.now();
  const record: ComponentRecord = await launch({
    ...program,
    command: [...program.command, ...flags],
    anchor: { name: `anchor@${node.name}`, pid: cluster.component(`anchor@${node.name}`).pid },
    cgroup: `${cluster.layout.cgroupParent}/parts`,
    logFile: join(cluster.layout.directory, "logs", `${slugOf(name)}@${node.name}.log`),
  });
  await waitReady(cluster.layout, record);
  return {
    name,
    pid: record.pid,
    launchedMs,
    rootDirectory: rootDirectoryOf(name),
    stop: async () => {
      await sendSignal(record, "SIGTERM");
      await waitUntil(`${name} to end`, STOP_LIMIT_MS, async () => !(await isAlive(record)), 20);
    },
  };
}

async function removePods(api: KubeApi, namespace: string, watcher: PodWatcher): Promise<void> {
  for (const name of watcher.present()) {
    await api.delete(pods, { name, namespace }, { gracePeriodSeconds: 0 }, forever).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    await watcher.when(name, "deleted", ({ kind }) => kind === "deleted");
  }
}

async function removeSandboxes({ runtime }: CriClient): Promise<void> {
  for (const { id } of await runtime.listSandboxes({}, forever)) {
    await runtime.stopSandbox(id, forever);
    await runtime.removeSandbox(id, forever);
  }
  const left = await runtime.listSandboxes({}, forever);
  if (left.length > 0) throw new Error(`${left.length} sandboxes cannot be removed`);
}
