/**
 * A real cluster on this machine: started in one call, taken apart in one call, with nothing left behind.
 *
 * Everything it makes is noted in its record first, so a cluster whose maker was killed is ended by the next `startCluster` or by
 * `npm run cluster -- down`. Several clusters live side by side.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CertificateFiles, issueClientCertificate, pki } from "./certificates.ts";
import { killAllBelow, makeCgroup, removeCgroup } from "./cgroups.ts";
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
import { buildImages } from "./images.ts";
import { noteKernelSettings, restoreKernelSettings } from "./kernel-settings.ts";
import { type ClusterLayout, layoutOf, type NodeLayout } from "./layout.ts";
import { leftoversOf, type MachineState, machineState, mountsBelow } from "./leftovers.ts";
import { joinMachine, joinNode, leaveMachine, routePods } from "./network.ts";
import { type Agent, anchor, containerd, importImages, kubeProxy, makeNodeFolders, nodeAgent } from "./node.ts";
import { buildParts, type Parts } from "./parts.ts";
import { isAlive, killHard, launch, pauseHard, sendSignal, startTicks } from "./processes.ts";
import { apiStatus, waitReady } from "./ready.ts";
import {
  allRecords,
  type ClusterRecord,
  type ComponentRecord,
  freeSlot,
  readRecord,
  slotsOf,
  takeSlot,
  writeRecord,
} from "./record.ts";
import { waitUntil } from "./wait.ts";

export interface ClusterOptions {
  /** Left out: a name of its own, and the cluster ends with the process that made it. */
  readonly name?: string;
  readonly controlPlane: "none" | "api" | "full";
  readonly nodes: readonly { readonly agent: Agent }[];
  readonly report?: (line: string) => void;
}

export interface Component {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  isAlive(): Promise<boolean>;
  /** SIGKILL, and back when it is gone. */
  kill(): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Kills it if it lives, starts it as before, and waits until it is ready. */
  restart(): Promise<void>;
}

export interface ClusterNode extends NodeLayout {
  readonly agent: Agent;
  readonly criEndpoint: string;
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
  /** Answers with stdout; rejects with what kubectl said. */
  kubectl(...args: readonly string[]): Promise<string>;
  down(): Promise<void>;
}

const CONTROL_PLANE_ANCHOR = "anchor@control-plane";
let made = 0;

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const report = options.report ?? (() => {});
  made += 1;
  const name = options.name ?? `t${process.pid}-${made}`;
  await endAbandoned(name);
  const [parts, images] = await prepare(report);
  await noteKernelSettings();
  const before = await machineState();
  const slot = await takeSlot(name);
  const layout = layoutOf(name, slot);
  const builder = new ClusterBuilder(layout, parts, {
    name,
    slot,
    makerPid: process.pid,
    makerStartTicks: (await startTicks(process.pid)) ?? "",
    complete: false,
    disposable: options.name === undefined,
    controlPlane: options.controlPlane,
    agents: options.nodes.map(({ agent }) => agent),
    components: [],
  });
  try {
    await builder.begin(before);
    await builder.build(images, options, report);
  } catch (error) {
    await down(name).catch((trouble: unknown) => report(`and could not be taken down: ${String(trouble)}`));
    throw error;
  }
  return open(layout, parts, builder.record);
}

/** A cluster that is up, made by this or another process. */
export async function openCluster(name: string): Promise<Cluster> {
  const record = await readRecord(name);
  if (record === undefined) throw new Error(`there is no cluster ${name}`);
  return open(layoutOf(name, record.slot), await buildParts(), record);
}

async function prepare(report: (line: string) => void) {
  const parts = await buildParts(report);
  return [parts, await buildImages(parts)] as const;
}

class ClusterBuilder {
  readonly #layout: ClusterLayout;
  readonly #parts: Parts;
  record: ClusterRecord;
  #saved: Promise<void> = Promise.resolve();

  constructor(layout: ClusterLayout, parts: Parts, record: ClusterRecord) {
    this.#layout = layout;
    this.#parts = parts;
    this.record = record;
  }

  async begin(before: MachineState): Promise<void> {
    await writeRecord(this.record);
    await writeFile(join(this.#layout.folder, "before.json"), JSON.stringify(before));
    await mkdir(join(this.#layout.folder, "logs"), { recursive: true });
    await makeCgroup(`${this.#layout.cgroupParent}/parts`);
  }

  async build(
    images: { readonly archives: readonly string[]; readonly registryStorage: string },
    options: ClusterOptions,
    report: (line: string) => void,
  ): Promise<void> {
    const layout = this.#layout;
    const nodes = options.nodes.map(({ agent }, index) => ({ agent, layout: layout.node(index) }));
    const controlPlaneAnchor = await this.#start(anchor(CONTROL_PLANE_ANCHOR, layout.name));
    await joinMachine(layout, controlPlaneAnchor.pid);
    const anchors: ComponentRecord[] = [];
    for (const node of nodes) {
      await makeNodeFolders(node.layout);
      await makeCgroup(node.layout.cgroupParent);
      const held = await this.#start(anchor(`anchor@${node.layout.name}`, node.layout.name, node.layout));
      await joinNode(layout, node.layout, { controlPlane: controlPlaneAnchor.pid, node: held.pid });
      for (const [index, other] of anchors.entries()) {
        await routePods(held.pid, layout.node(index));
        await routePods(other.pid, node.layout);
      }
      anchors.push(held);
    }
    await allEnded([
      this.#controlPlane(options.controlPlane, report),
      this.#registries(images.registryStorage, nodes.length > 0),
      ...nodes.map((node) => this.#runtime(node.layout, images.archives)),
    ]);
    if (options.controlPlane !== "none") await allEnded(nodes.map((node) => this.#agent(node.agent, node.layout)));
    await this.#note({ complete: true });
  }

  async #controlPlane(which: ClusterOptions["controlPlane"], report: (line: string) => void): Promise<void> {
    if (which === "none") return;
    const [layout, parts] = [this.#layout, this.#parts];
    await this.#start(etcd(layout, parts), CONTROL_PLANE_ANCHOR);
    await this.#start(await kubeApiServer(layout, parts), CONTROL_PLANE_ANCHOR);
    report(`${layout.name}: kube-apiserver is ready`);
    if (which === "api") return;
    const programs = [await kubeControllerManager(layout, parts), await kubeScheduler(layout, parts)];
    await allEnded(programs.map((program) => this.#start(program, CONTROL_PLANE_ANCHOR)));
    // Until the controller has made it, no pod of the namespace is admitted.
    const account = "/api/v1/namespaces/default/serviceaccounts/default";
    await waitUntil("the default service account", 30_000, async () => (await apiStatus(layout, account)) === 200);
  }

  async #registries(storage: string, wanted: boolean): Promise<void> {
    if (!wanted) return;
    const programs = await registries(this.#layout, this.#parts, storage);
    await allEnded(programs.map((program) => this.#start(program, CONTROL_PLANE_ANCHOR)));
  }

  async #runtime(node: NodeLayout, archives: readonly string[]): Promise<void> {
    await this.#start(await containerd(this.#layout, node, this.#parts), `anchor@${node.name}`);
    await importImages(node, this.#parts, archives);
  }

  async #agent(agent: Agent, node: NodeLayout): Promise<void> {
    if (agent === "none") return;
    await this.#start(await nodeAgent(agent, this.#layout, node, this.#parts), `anchor@${node.name}`);
    await this.#start(await kubeProxy(this.#layout, node, this.#parts), `anchor@${node.name}`);
  }

  async #start(program: Program, anchorName?: string): Promise<ComponentRecord> {
    const held = this.record.components.find((component) => component.name === anchorName);
    const component = await launch({
      ...program,
      ...(held === undefined ? {} : { anchor: held }),
      cgroup: `${this.#layout.cgroupParent}/parts`,
      logFile: join(this.#layout.folder, "logs", `${program.name}.log`),
    });
    await this.#note({ components: [...this.record.components, component] });
    await waitReady(this.#layout, component);
    return component;
  }

  /** Several parts start at once; their notes are written one after the other. */
  async #note(change: Partial<ClusterRecord>): Promise<void> {
    this.record = { ...this.record, ...change };
    this.#saved = this.#saved.then(() => writeRecord(this.record));
    await this.#saved;
  }
}

/** Waits for all of them even when one fails: what is still being started must not outlive a clean-up. */
async function allEnded(work: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).filter((outcome) => outcome.status === "rejected");
  if (failed.length === 1) throw failed[0]?.reason;
  if (failed.length > 1) throw new AggregateError(failed.map((outcome): unknown => outcome.reason));
}

function open(layout: ClusterLayout, parts: Parts, opened: ClusterRecord): Cluster {
  const handles = opened.components.map((component) => handle(layout, opened.name, component));
  const nodes = opened.agents.map((agent, index): ClusterNode => {
    const node = layout.node(index);
    const held = opened.components.find((component) => component.name === `anchor@${node.name}`);
    const enter = ["-t", String(held?.pid), "--net", "--mount", "--uts", "--"];
    return {
      ...node,
      agent: agent as Agent,
      criEndpoint: `unix://${node.containerdSocket}`,
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
    kubectl: (...args) =>
      command(parts.path("kubectl"), [`--kubeconfig=${layout.kubeconfig}`, ...args], { limitMs: 120_000 }),
    down: () => down(opened.name),
  };
}

function handle(layout: ClusterLayout, cluster: string, started: ComponentRecord): Component {
  let current = started;
  return {
    name: started.name,
    get pid() {
      return current.pid;
    },
    logFile: started.logFile,
    isAlive: () => isAlive(current),
    kill: () => killHard(current),
    pause: () => pauseHard(current),
    resume: () => sendSignal(current, "SIGCONT"),
    async restart() {
      await killHard(current);
      const record = await readRecord(cluster);
      if (record === undefined) throw new Error(`there is no cluster ${cluster}`);
      const held = record.components.find((component) => component.name === current.anchor);
      if (held === undefined) throw new Error(`${current.name} holds the namespaces of others and cannot be restarted`);
      current = await launch({ ...current, anchor: held });
      const components = record.components.map((component) => (component.name === current.name ? current : component));
      await writeRecord({ ...record, components });
      await waitReady(layout, current);
    },
  };
}

/** Ends a cluster by what its record and its cgroup say, whoever made it, and fails with the list of what is left. */
export async function down(name: string): Promise<void> {
  const slots = await slotsOf(name);
  const slot = (await readRecord(name))?.slot ?? slots[0];
  if (slot === undefined) throw new Error(`there is no cluster ${name}`);
  const layout = layoutOf(name, slot);
  const before = await readFile(join(layout.folder, "before.json"), "utf8").catch(() => undefined);
  await killAllBelow(layout.cgroupParent);
  await leaveMachine(layout);
  await removeCgroup(layout.cgroupParent);
  // A cluster mounts nothing here; if something is mounted all the same, removing would reach into it.
  if ((await mountsBelow(layout.folder)).length === 0) await rm(layout.folder, { recursive: true, force: true });
  const others = (await allRecords()).length;
  const kernel = others > 0 ? [] : await restoreKernelSettings();
  // No cluster is without a note of the machine before it, unless it was killed before it made anything.
  const left = before === undefined ? [] : await leftoversOf(layout, JSON.parse(before) as MachineState);
  if (left.length + kernel.length > 0) {
    throw new Error(`cluster ${name} left behind:\n  ${[...left, ...kernel].join("\n  ")}`);
  }
  // Last: a slot that something still uses must not be given to another cluster.
  for (const held of new Set([slot, ...slots])) await freeSlot(held);
}

/** Ends what is in the way: an unfinished cluster of this name, and clusters of tests whose process is gone. */
async function endAbandoned(name: string): Promise<void> {
  for (const record of await allRecords()) {
    const makerLives = await isAlive({ pid: record.makerPid, startTicks: record.makerStartTicks });
    if (record.name === name && record.complete) throw new Error(`cluster ${name} is up already`);
    if (makerLives) {
      if (record.name === name) throw new Error(`cluster ${name} is coming up in process ${record.makerPid}`);
      continue;
    }
    if (record.disposable || !record.complete) await down(record.name);
  }
  for (const slot of await slotsOf(name)) await freeSlot(slot);
}
