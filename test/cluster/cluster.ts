/**
 * A real cluster on this machine: one call starts it, another ends it and leaves nothing behind.
 *
 * The next `startCluster` or `npm run cluster -- down` ends a cluster whose maker was killed. Several clusters may run
 * at the same time. Only one process at a time starts or ends a cluster of a given name; others are rejected.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type CertificateFiles, issueClientCertificate, pki } from "./certificates.ts";
import { cgroupsLeft, makeCgroup, mountOwnHierarchies } from "./cgroups.ts";
import { type CommandResult, command, tryCommand } from "./command.ts";
import {
  etcd,
  kubeApiServer,
  kubeControllerManager,
  kubeScheduler,
  type Program,
  REGISTRY_PASSWORD,
  REGISTRY_USERNAME,
  registries,
} from "./control-plane.ts";
import { type CriProxy, startCriProxy } from "./cri-proxy.ts";
import { down, endAbandoned, exclusively, MACHINE_LOCK, takeDown } from "./down.ts";
import { buildImages, type Images } from "./images.ts";
import { type ClusterLayout, layoutOf, type NodeLayout } from "./layout.ts";
import { machineState } from "./leftovers.ts";
import { withLock } from "./lock.ts";
import { joinMachine, joinNode, routePods } from "./network.ts";
import {
  type Agent,
  type AgentOptions,
  anchor,
  containerd,
  importImages,
  kubeProxy,
  makeNodeDirectories,
  makeNodeDisks,
  makeServiceCgroup,
  type NodeDisk,
  nodeAgent,
} from "./node.ts";
import { buildParts, type Parts } from "./parts.ts";
import { endGently, isAlive, killHard, type Launch, launch, pauseHard, sendSignal, startTicks } from "./processes.ts";
import { ASK_EVERY_MS, apiStatus, waitReady } from "./ready.ts";
import { type ClusterRecord, type ComponentRecord, readRecord, writeRecord } from "./record.ts";
import { takeSlot } from "./slots.ts";
import { noteSysctls } from "./sysctls.ts";
import { tokenWebhookFlags } from "./token-webhook.ts";
import { waitUntil } from "./wait.ts";

export interface NodeOptions {
  readonly agent: Agent;
  readonly options?: AgentOptions;
  /** Routes the agent's CRI calls through a proxy in this process, which records them and can inject faults. */
  readonly criProxy?: boolean;
  /**
   * The node's cgroup is the root of every hierarchy that its programs see, as on a machine of its own. Its runtime runs
   * in a cgroup below it. Needs cgroup v1.
   */
  readonly ownCgroups?: boolean;
  /** File systems of the node's own, each mounted after the ones before it. */
  readonly disks?: readonly NodeDisk[];
  /** Added to the runtime's usual environment; these values win. */
  readonly runtimeEnv?: Readonly<Record<string, string>>;
}

export interface ClusterOptions {
  /**
   * When left out, the name is generated, and the next `startCluster` ends the cluster once the process that made it
   * has exited.
   */
  readonly name?: string;
  readonly controlPlane: "none" | "api" | "full";
  readonly nodes: readonly NodeOptions[];
  /** The images that its registry serves and its nodes start with; the usual ones unless given. */
  readonly images?: (parts: Parts) => Promise<Images>;
  /** Lifetime of the certificates that the controllers sign, in seconds: a year unless given. */
  readonly signingSeconds?: number;
  /** The API server asks the token webhook of token-webhook.ts, which the caller starts. */
  readonly tokenReviews?: boolean;
  readonly report?: (line: string) => void;
  /** Aborts the start; everything started by then is taken down. */
  readonly signal?: AbortSignal;
}

export interface Component {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  isAlive(): Promise<boolean>;
  /** Sends SIGKILL and waits until the process is gone. */
  kill(): Promise<void>;
  /** Sends SIGTERM and waits until the process is gone. */
  end(): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Kills the process if it is alive, starts it as before, and waits until it is ready. */
  restart(): Promise<void>;
}

export interface ClusterNode extends NodeLayout {
  readonly agent: Agent;
  readonly criEndpoint: string;
  /** The proxy between agent and runtime, if `criProxy` requested one. */
  readonly criProxy: CriProxy | undefined;
  /** The path by which this machine reaches a file of the node, including files on mounts that only the node has. */
  inside(path: string): string;
  /** Runs a command in the node's namespaces. */
  run(...args: readonly string[]): Promise<CommandResult>;
}

export interface Cluster {
  readonly layout: ClusterLayout;
  readonly api: {
    readonly url: string;
    readonly caFile: string;
    readonly adminCertFile: string;
    readonly adminKeyFile: string;
    readonly kubeconfig: string;
    readonly auditLog: string;
    clientCertificate(user: string, groups: readonly string[]): Promise<CertificateFiles>;
  };
  readonly registry: {
    readonly open: string;
    readonly guarded: string;
    readonly username: string;
    readonly password: string;
  };
  readonly nodes: readonly ClusterNode[];
  readonly components: readonly Component[];
  component(name: string): Component;
  /** Returns stdout; rejects with kubectl's error output. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** The program and its first arguments, for callers that start it themselves. */
  readonly kubectlCommand: readonly [file: string, ...args: readonly string[]];
  /**
   * Stops the node's agent with SIGTERM, as a service manager does. Starts another agent, or the same one with other
   * options, in its place and directories.
   */
  changeAgent(node: string, agent: Exclude<Agent, "none">, options?: AgentOptions): Promise<void>;
  /**
   * Starts another program in the namespaces of a node, or of the control plane, as a further component of the cluster.
   */
  start(program: Program, where?: ClusterNode): Promise<Component>;
  down(): Promise<void>;
}

const CONTROL_PLANE_ANCHOR = "anchor@control-plane";
/** A leaf cgroup for every program that is not a container. The nodes' cgroups beside it belong to their agents. */
const partsCgroup = (layout: ClusterLayout) => `${layout.cgroupParent}/parts`;
let made = 0;

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  if (process.getuid?.() !== 0) throw new Error("a cluster needs root: it makes namespaces, cgroups and mounts");
  made += 1;
  const name = options.name ?? `t${process.pid}-${made}`;
  return exclusively(name, async () => {
    await endAbandoned(name, options.report ?? console.error);
    const parts = await buildParts(options.report);
    const images = await (options.images ?? buildImages)(parts);
    const slot = await claim(name);
    try {
      const builder = await ClusterBuilder.begin(layoutOf(name, slot), parts, options);
      await builder.build(images);
      return open(layoutOf(name, slot), parts, builder.record, builder.proxies);
    } catch (error) {
      const reason: unknown = options.signal?.aborted === true ? options.signal.reason : error;
      const trouble = await takeDown(name).then(
        () => undefined,
        (cause: Error) => cause.message,
      );
      if (trouble === undefined) throw reason;
      throw new AggregateError([reason, trouble], `${String(reason)}\nand then: ${trouble}`, { cause: error });
    }
  });
}

/** Records the state of the machine and takes a slot on it. */
async function claim(name: string): Promise<number> {
  const [taken] = await cgroupsLeft(layoutOf(name, 0).cgroupParent);
  if (taken !== undefined) {
    throw new Error(`${taken} is there already: is a cluster ${name} up below another TMPDIR or DECKHAND_CLUSTERS?`);
  }
  return withLock(MACHINE_LOCK, async () => {
    await noteSysctls();
    return takeSlot(name, await machineState());
  });
}

/** Opens a running cluster, started by this or another process. */
export async function openCluster(name: string): Promise<Cluster> {
  const record = await readRecord(name);
  if (record === undefined) throw new Error(`there is no cluster ${name}`);
  return open(layoutOf(name, record.slot), await buildParts(), record);
}

interface PlacedNode extends NodeOptions {
  readonly layout: NodeLayout;
}

class ClusterBuilder {
  readonly #layout: ClusterLayout;
  readonly #parts: Parts;
  readonly #options: ClusterOptions;
  record: ClusterRecord;
  /** Keyed by node name. */
  readonly proxies = new Map<string, CriProxy>();
  #saved: Promise<void> = Promise.resolve();

  private constructor(layout: ClusterLayout, parts: Parts, options: ClusterOptions, record: ClusterRecord) {
    this.#layout = layout;
    this.#parts = parts;
    this.#options = options;
    this.record = record;
  }

  static async begin(layout: ClusterLayout, parts: Parts, options: ClusterOptions): Promise<ClusterBuilder> {
    const record: ClusterRecord = {
      name: layout.name,
      slot: layout.slot,
      makerPid: process.pid,
      makerStartTicks: (await startTicks(process.pid)) ?? "",
      complete: false,
      disposable: options.name === undefined,
      controlPlane: options.controlPlane,
      agents: options.nodes.map(({ agent }) => agent),
      components: [],
    };
    await writeRecord(record);
    await mkdir(join(layout.directory, "logs"), { recursive: true });
    await makeCgroup(partsCgroup(layout));
    return new ClusterBuilder(layout, parts, options, record);
  }

  async build(images: Images): Promise<void> {
    const [layout, { controlPlane }] = [this.#layout, this.#options];
    const nodes = this.#options.nodes.map((node, index) => ({ ...node, layout: layout.node(index) }));
    await this.#network(nodes);
    await allEnded([
      this.#controlPlane(controlPlane),
      this.#registries(images.registryStorage, nodes.length > 0),
      ...nodes.map((node) => this.#runtime(node, images.archives)),
    ]);
    if (controlPlane !== "none") {
      for (const { criProxy, layout: node } of nodes) if (criProxy === true) await this.#proxy(node);
      await allEnded(nodes.map((node) => this.#agent(node.agent, node.layout, node.options)));
    }
    this.#options.signal?.throwIfAborted();
    await this.#note({ complete: true });
  }

  /** Creates namespaces and links: first for the control plane, then for each node. */
  async #network(nodes: readonly PlacedNode[]): Promise<void> {
    const layout = this.#layout;
    const controlPlane = await this.#start(anchor(CONTROL_PLANE_ANCHOR, layout.name));
    await joinMachine(layout, controlPlane.pid);
    const anchors: ComponentRecord[] = [];
    for (const { layout: node, options, ownCgroups, disks = [] } of nodes) {
      await makeNodeDirectories(node);
      await makeNodeDisks(node, disks);
      await makeCgroup(node.cgroupParent);
      const mounts = ownCgroups === true ? await mountOwnHierarchies() : undefined;
      const held = await this.#start(anchor(`anchor@${node.name}`, node.name, node, { ownCgroups: mounts, disks }));
      const pids = { controlPlane: controlPlane.pid, node: held.pid };
      await joinNode(layout, node, pids, options?.dualStack ?? false);
      for (const [index, other] of anchors.entries()) {
        await routePods(held.pid, layout.node(index));
        await routePods(other.pid, node);
      }
      anchors.push(held);
    }
  }

  async #controlPlane(which: ClusterOptions["controlPlane"]): Promise<void> {
    if (which === "none") return;
    const [layout, parts] = [this.#layout, this.#parts];
    await this.#start(etcd(layout, parts), CONTROL_PLANE_ANCHOR);
    const more = this.#options.tokenReviews === true ? await tokenWebhookFlags(layout) : {};
    await this.#start(await kubeApiServer(layout, parts, more), CONTROL_PLANE_ANCHOR);
    this.#options.report?.(`${layout.name}: kube-apiserver is ready`);
    if (which === "api") return;
    const { signingSeconds } = this.#options;
    const programs = [await kubeControllerManager(layout, parts, signingSeconds), await kubeScheduler(layout, parts)];
    await allEnded(programs.map((program) => this.#start(program, CONTROL_PLANE_ANCHOR)));
    // Until the controller has created it, no pod of the namespace is admitted.
    const account = "/api/v1/namespaces/default/serviceaccounts/default";
    const isMade = async () => (await apiStatus(layout, account)) === 200;
    await waitUntil("the default service account", 30_000, isMade, ASK_EVERY_MS);
  }

  async #registries(storage: string, wanted: boolean): Promise<void> {
    if (!wanted) return;
    const programs = await registries(this.#layout, this.#parts, storage);
    await allEnded(programs.map((program) => this.#start(program, CONTROL_PLANE_ANCHOR)));
  }

  async #runtime(placed: PlacedNode, archives: readonly string[]): Promise<void> {
    const { layout: node, runtimeEnv = {}, options, ownCgroups } = placed;
    const program = await containerd(this.#layout, node, this.#parts, options?.dualStack ?? false);
    const cgroup = ownCgroups === true ? { cgroup: await makeServiceCgroup(node, "containerd") } : {};
    await this.#start({ ...program, ...cgroup, env: { ...program.env, ...runtimeEnv } }, `anchor@${node.name}`);
    await importImages(node, this.#parts, archives);
  }

  async #proxy(node: NodeLayout): Promise<void> {
    this.proxies.set(node.name, await startCriProxy(join(node.directory, "cri.sock"), runtimeEndpoint(node)));
  }

  async #agent(agent: Agent, node: NodeLayout, options?: AgentOptions): Promise<void> {
    if (agent === "none") return;
    const reported = through(this.proxies.get(node.name), options);
    await this.#start(await nodeAgent(agent, this.#layout, node, this.#parts, reported), `anchor@${node.name}`);
    await this.#start(await kubeProxy(this.#layout, node, this.#parts), `anchor@${node.name}`);
  }

  async #start(program: Program, anchorName?: string): Promise<ComponentRecord> {
    this.#options.signal?.throwIfAborted();
    const held = this.record.components.find((component) => component.name === anchorName);
    const component = await launch(launchOf(this.#layout, program, held));
    await this.#note({ components: [...this.record.components, component] });
    await waitReady(this.#layout, component, this.#options.signal);
    return component;
  }

  /** Several components start at once; their records are written one after the other. */
  async #note(change: Partial<ClusterRecord>): Promise<void> {
    this.record = { ...this.record, ...change };
    this.#saved = this.#saved.then(() => writeRecord(this.record));
    await this.#saved;
  }
}

/** Waits for all promises even when one rejects: a component that is still starting must not outlive a cleanup. */
async function allEnded(work: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).filter((outcome) => outcome.status === "rejected");
  if (failed.length === 1) throw failed[0]?.reason;
  if (failed.length > 1) throw new AggregateError(failed.map((outcome): unknown => outcome.reason));
}

const runtimeEndpoint = (node: NodeLayout) => `unix://${node.containerdSocket}`;

/** Returns the agent's options with its runtime endpoint pointing at the proxy, if there is one. */
function through(proxy: CriProxy | undefined, options: AgentOptions = {}): AgentOptions {
  if (proxy === undefined) return options;
  return { ...options, configuration: { containerRuntimeEndpoint: proxy.endpoint, ...options.configuration } };
}

function open(
  layout: ClusterLayout,
  parts: Parts,
  opened: ClusterRecord,
  proxies: ReadonlyMap<string, CriProxy> = new Map(),
): Cluster {
  const handles = opened.components.map((component) => handle(layout, opened.name, component));
  const nodes = opened.agents.map((agent, index): ClusterNode => {
    const node = layout.node(index);
    const held = opened.components.find((component) => component.name === `anchor@${node.name}`);
    const enter = ["-t", String(held?.pid), "--net", "--mount", "--uts", "--"];
    return {
      ...node,
      agent: agent as Agent,
      criEndpoint: runtimeEndpoint(node),
      criProxy: proxies.get(node.name),
      inside: (path) => `/proc/${held?.pid}/root${path}`,
      run: (...args) => tryCommand("nsenter", [...enter, ...args]),
    };
  });
  return {
    layout,
    api: {
      url: layout.apiUrl,
      caFile: pki(layout, "ca.crt"),
      adminCertFile: pki(layout, "admin.crt"),
      adminKeyFile: pki(layout, "admin.key"),
      kubeconfig: layout.kubeconfig,
      auditLog: layout.auditLog,
      clientCertificate: (user, groups) =>
        issueClientCertificate(layout, `client-${crypto.randomUUID()}`, { user, groups }),
    },
    registry: {
      open: layout.registryOpen,
      guarded: layout.registryGuarded,
      username: REGISTRY_USERNAME,
      password: REGISTRY_PASSWORD,
    },
    nodes,
    components: handles,
    component(name) {
      const found = handles.find((component) => component.name === name);
      if (found === undefined)
        throw new Error(`no component ${name}; there are ${handles.map((h) => h.name).join(", ")}`);
      return found;
    },
    kubectlCommand: [parts.path("kubectl"), `--kubeconfig=${layout.kubeconfig}`],
    kubectl: (...args) =>
      command(parts.path("kubectl"), [`--kubeconfig=${layout.kubeconfig}`, ...args], { limitMs: 120_000 }),
    async changeAgent(name, agent, options) {
      const node = nodes.find((one) => one.name === name);
      const component = handles.find((one) => one.name === `kubelet@${name}`);
      if (node === undefined || component === undefined) throw new Error(`no agent to change on ${name}`);
      await component.end();
      await component.become(await nodeAgent(agent, layout, node, parts, through(node.criProxy, options)));
    },
    async start(program, where) {
      const anchorName = where === undefined ? CONTROL_PLANE_ANCHOR : `anchor@${where.name}`;
      const started = handle(layout, opened.name, await startAlso(layout, program, anchorName));
      handles.push(started);
      return started;
    },
    async down() {
      for (const proxy of proxies.values()) await proxy.close();
      await down(opened.name);
    },
  };
}

/** Another process may record another component at the same time, in the same record file. */
const recordLock = (layout: ClusterLayout) => `record of ${layout.directory}`;

async function startAlso(layout: ClusterLayout, program: Program, anchorName: string): Promise<ComponentRecord> {
  const started = await withLock(recordLock(layout), async () => {
    const record = await readRecord(layout.name);
    const held = record?.components.find((component) => component.name === anchorName);
    if (record === undefined || held === undefined) throw new Error(`cluster ${layout.name} has no ${anchorName}`);
    const component = await launch(launchOf(layout, program, held));
    const others = record.components.filter(({ name }) => name !== component.name);
    await writeRecord({ ...record, components: [...others, component] });
    return component;
  });
  await waitReady(layout, started);
  return started;
}

const launchOf = (layout: ClusterLayout, program: Program, held: ComponentRecord | undefined): Launch => ({
  ...program,
  ...(held === undefined ? {} : { anchor: held }),
  cgroup: program.cgroup ?? partsCgroup(layout),
  logFile: join(layout.directory, "logs", `${program.name}.log`),
});

interface Handle extends Component {
  /** Kills the process if it is alive, starts this program in its place, and waits until it is ready. */
  become(program: Program): Promise<void>;
}

function handle(layout: ClusterLayout, cluster: string, started: ComponentRecord): Handle {
  let current = started;
  const become = (program: Program) =>
    withLock(recordLock(layout), async () => {
      await killHard(current);
      const record = await readRecord(cluster);
      if (record === undefined) throw new Error(`there is no cluster ${cluster}`);
      const held = record.components.find((component) => component.name === current.anchor);
      if (held === undefined) throw new Error(`${current.name} holds the namespaces of others and cannot be restarted`);
      current = await launch({ ...current, ...program, anchor: held });
      const components = record.components.map((component) => (component.name === current.name ? current : component));
      await writeRecord({ ...record, components });
      await waitReady(layout, current);
    });
  return {
    name: started.name,
    get pid() {
      return current.pid;
    },
    logFile: started.logFile,
    isAlive: () => isAlive(current),
    kill: () => killHard(current),
    end: () => endGently(current),
    pause: () => pauseHard(current),
    resume: () => sendSignal(current, "SIGCONT"),
    restart: () => become(current),
    become,
  };
}
