/**
 * One machine of a simulated world, with everything that outlives its agent: runtime, disk, cgroups. Agents come and
 * go. Each life of an agent sees the world through its own ports, which stop answering when it dies.
 */
import type { KubeletPorts } from "../src/app/wiring.ts";
import { assert } from "../src/base/assert.ts";
import { parseCgroupPath } from "../src/domain/resources/cgroup-name.ts";
import type { Cgroups } from "../src/ports/cgroups.ts";
import type { HostFiles } from "../src/ports/host-files.ts";
import type { Log } from "../src/ports/log.ts";
import type { LogFiles } from "../src/ports/log-files.ts";
import type { Machine } from "../src/ports/machine.ts";
import { MountError, type Mounts } from "../src/ports/mounts.ts";
import type { Prober } from "../src/ports/prober.ts";
import type { Quotas } from "../src/ports/quotas.ts";
import type { Stats } from "../src/ports/stats.ts";
import { noTracer } from "../src/ports/tracer.ts";
import type { FakeApiServer } from "./fake-api-server/fake-api-server.ts";
import { FakeCgroups } from "./fake-cgroups.ts";
import { FakeFiles } from "./fake-files.ts";
import type { FakeHttp } from "./fake-http.ts";
import { FakeIptablesChains } from "./fake-iptables-chains.ts";
import { FakeKernelMessages } from "./fake-kernel-messages.ts";
import { FakeKeys } from "./fake-keys.ts";
import { FakeLogFiles } from "./fake-log-files.ts";
import { FakeMachine } from "./fake-machine.ts";
import { FakeMounts } from "./fake-mounts.ts";
import { FakeOwnProcess } from "./fake-own-process.ts";
import { FakeProber, type FakeServer } from "./fake-prober.ts";
import { FakeQuotas } from "./fake-quotas.ts";
import { type Health, HOOK_PATHS, isWell } from "./fake-runtime/behaviour.ts";
import { FakeRuntime } from "./fake-runtime/fake-runtime.ts";
import type { FakeRuntimeOptions, ProcessWatcher } from "./fake-runtime/node-state.ts";
import type { CommandRun, ContainerRecord } from "./fake-runtime/records.ts";
import type { FakeRegistry } from "./fake-runtime/registry.ts";
import { FakeStats } from "./fake-stats.ts";
import { FakeSysctls } from "./fake-sysctls.ts";
import type { Life, PortCalls } from "./port-calls.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Trace } from "./trace.ts";
import type { VirtualClock } from "./virtual-clock.ts";
import { diskLogs, install } from "./world-files.ts";
import { behindLife } from "./wrap-port.ts";

/** What a world runs on its nodes: `compose` with its options, or something smaller. */
export interface Agent {
  run(shutdown: AbortSignal): Promise<void>;
}

export type AgentFactory = (ports: KubeletPorts, node: SimNode) => Agent;

/** What a node uses of its world. */
export interface NodeSurroundings {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly trace: Trace;
  readonly calls: PortCalls;
  readonly api: FakeApiServer;
  readonly http: FakeHttp;
  readonly registry: FakeRegistry;
  readonly behaviourOf?: FakeRuntimeOptions["behaviourOf"];
  readonly logOf: (node: string, module: string) => Log;
}

const FILE_CALLS: readonly (keyof HostFiles)[] = [
  "facts",
  "list",
  "read",
  "readHead",
  "readTail",
  "writeAtomically",
  "appendAt",
  "overwrite",
  "makeDirectory",
  "makeFile",
  "writeNew",
  "setOwner",
  "setMode",
  "rename",
  "link",
  "readLink",
  "removeFile",
  "removeDirectory",
  "removeTree",
];
const LOG_FILE_CALLS: readonly (keyof LogFiles)[] = ["open", "openCompressed", "identityAt", "compress"];
const MOUNT_CALLS: readonly (keyof Mounts)[] = [
  "table",
  "share",
  "supportsNoswap",
  "mountMemory",
  "mountHugepages",
  "bind",
  "bindSubPath",
  "readBeneath",
  "unmount",
  "kindOf",
  "groupOf",
  "makeDirectory",
  "makeFile",
  "applyFsGroup",
  "measure",
  "removeTree",
  "formatOf",
  "check",
  "format",
  "mountDevice",
];
const CGROUP_CALLS: readonly (keyof Cgroups)[] = ["exists", "apply", "children", "memory", "processes", "destroy"];
const MACHINE_CALLS: readonly (keyof Machine)[] = [
  "facts",
  "memoryWorkingSetBytes",
  "memoryAvailableBytes",
  "processCount",
  "filesystem",
  "addresses",
  "defaultRouteAddress",
  "lookup",
];

/** Files that every machine has and an agent reads. */
const FIRST_FILES: Readonly<Record<string, string>> = {
  "/etc/resolv.conf": "nameserver 198.18.255.53\nsearch example\n",
  "/etc/hosts": "127.0.0.1 localhost\n",
};

/** The default time limit of a node status request. */
const HEARTBEAT_LIMIT_MS = 10_000;

interface Running {
  readonly life: Life;
  readonly shutdown: AbortController;
  readonly ended: Promise<void>;
}

export class SimNode {
  readonly name: string;
  readonly runtime: FakeRuntime;
  readonly files: FakeFiles;
  readonly logFiles: FakeLogFiles;
  readonly mounts: FakeMounts;
  readonly quotas: FakeQuotas;
  readonly cgroups: FakeCgroups;
  readonly machine: FakeMachine;
  readonly stats: FakeStats;
  /** The containers answer at their pods' addresses, on every port. */
  readonly prober: FakeProber;
  /** What the agent manages on its machine. No random faults occur there: a kernel always answers. */
  readonly host = {
    sysctls: new FakeSysctls(),
    messages: new FakeKernelMessages(),
    chains: new FakeIptablesChains(),
  };
  readonly #around: NodeSurroundings;
  #lives = 0;
  #boots = 1;
  #startedMonotonicMs = 0;
  #running: Running | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(name: string, around: NodeSurroundings) {
    const { clock, random, trace, registry, behaviourOf } = around;
    this.name = name;
    this.#around = around;
    this.files = new FakeFiles({ clock });
    this.logFiles = new FakeLogFiles(this.files);
    this.mounts = new FakeMounts(this.files, clock);
    this.quotas = new FakeQuotas(this.files, this.mounts);
    for (const [path, text] of Object.entries(FIRST_FILES)) install(this.files, path, text);
    this.cgroups = new FakeCgroups({
      onKill: (pid) => this.runtime.killProcess(pid),
      memoryOf: (pid) => this.runtime.useOf(pid).memoryBytes,
    });
    this.machine = new FakeMachine(name);
    this.machine.use = () => this.runtime.use;
    this.stats = new FakeStats({
      clock,
      cgroups: this.cgroups,
      machine: this.machine,
      files: this.files,
      childrenOf: (pid) => this.runtime.useOf(pid).children,
    });
    this.prober = new FakeProber(clock, ({ host }) => this.#serverAt(host));
    const options = { clock, trace, name, logs: diskLogs(this.files), processes: inCgroups(this.cgroups) };
    const table = behaviourOf === undefined ? {} : { behaviourOf };
    this.runtime = new FakeRuntime({ ...options, ...table, random: random.split(`${name}/runtime`) }, registry);
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** The life of the running agent. */
  get life(): Life | undefined {
    return this.#running?.life;
  }

  /** How many agents were started here. */
  get lives(): number {
    return this.#lives;
  }

  /** How often the machine was started. */
  get boots(): number {
    return this.#boots;
  }

  /** When the last agent was started. */
  get startedMonotonicMs(): number {
    return this.#startedMonotonicMs;
  }

  /** The error with which the last agent ended by itself, which is a bug of the agent. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  start(factory: AgentFactory): void {
    assert(this.#running === undefined, `an agent runs on ${this.name}`);
    this.#lives += 1;
    this.#startedMonotonicMs = this.#around.clock.monotonicMs();
    this.#say("the agent starts");
    const life = this.#around.calls.begin(this.name, this.#lives);
    const shutdown = new AbortController();
    const agent = factory(this.#ports(life), this);
    const ended = agent.run(shutdown.signal).then(
      () => this.#agentEnded(life, "the agent has ended"),
      (error: unknown) => {
        this.#failure = { error };
        this.#agentEnded(life, `the agent failed: ${String(error)}`);
      },
    );
    this.#running = { life, shutdown, ended };
  }

  /** Kills the agent: its calls in progress are cut, and the world keeps its state. */
  crash(): void {
    if (this.#running === undefined) return;
    this.#say("the agent is killed");
    this.#running.life.cut();
    this.#running = undefined;
    this.files.kill();
  }

  /** Reboots the machine after a power loss: processes are gone, and the disk keeps what was synced. */
  crashMachine(): void {
    this.crash();
    this.#say("the machine restarts");
    this.#boots += 1;
    this.files.crash(this.#around.random.split(`${this.name}/power/${this.#lives}`));
    this.runtime.reboot();
    this.host.messages.restart();
    this.host.chains.flush();
    this.machine.machine = {
      ...this.machine.machine,
      bootId: this.#around.random.split(`${this.name}/boot/${this.#lives}`).uuid(),
    };
  }

  /** Writes a file, such as a manifest, from outside the agent. */
  async writeFile(path: string, text: string): Promise<void> {
    this.files.makeDirectory(path.slice(0, path.lastIndexOf("/")), 0o755);
    await this.files.port.writeAtomically(path, new TextEncoder().encode(text), 0o644);
  }

  /** Requests the agent's shutdown; resolves when the agent has ended. The clock must advance for that. */
  async stop(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#say("the agent is asked to end");
    running.shutdown.abort(new Error("shutting down"));
    await running.ended;
  }

  #serverAt(ip: string): FakeServer | undefined {
    const sandbox = [...this.runtime.sandboxes.values()].find(
      ({ ips, state }) => state === "ready" && ips.includes(ip),
    );
    const inside = [...this.runtime.containers.values()].filter(({ sandboxId }) => sandboxId === sandbox?.id);
    const [server] = inside.filter(({ id }) => this.runtime.healthOf(id) !== undefined);
    const health = server && this.runtime.healthOf(server.id);
    return server === undefined || health === undefined ? undefined : serverOf(health, server);
  }

  #agentEnded(life: Life, what: string): void {
    if (this.#running?.life !== life) return;
    this.#say(what);
    life.cut();
    this.#running = undefined;
    this.files.kill();
  }

  #ports(life: Life): KubeletPorts {
    const { random, api, http, logOf } = this.#around;
    const identity = { kind: "node", name: this.name } as const;
    const cgroups = behindLife<Cgroups>(life, "cgroups", this.cgroups, CGROUP_CALLS);
    const { runtime, images } = this.runtime.connect(life);
    const connect = () => api.connect(life, identity);
    const heartbeats = api.connect(life, identity, { requestLimitMs: HEARTBEAT_LIMIT_MS });
    return {
      clock: life.clock,
      random: random.split(`${this.name}/agent/${life.number}`),
      files: behindLife(life, "files", this.files.port, FILE_CALLS),
      logFiles: behindLife<LogFiles>(life, "logFiles", this.logFiles, LOG_FILE_CALLS),
      mounts: behindLife<Mounts>(life, "mounts", this.mounts, MOUNT_CALLS, unansweredMount),
      quotas: behindLife<Quotas>(life, "quotas", this.quotas, ["assign", "usage", "releaseRemoved"], unansweredMount),
      machine: behindLife<Machine>(life, "machine", this.machine, MACHINE_CALLS),
      stats: behindLife<Stats>(life, "stats", this.stats, ["read", "ownGroup"]),
      http: behindLife(life, "http", http, ["get"]),
      prober: behindLife<Prober>(life, "prober", this.prober, ["http", "tcp", "grpc"]),
      runtime,
      images,
      cgroups: () => ({ pods: cgroups, machine: cgroups }),
      api: { main: connect(), heartbeats, events: connect(), host: "api.sim:6443" },
      process: new FakeOwnProcess(life.clock),
      tracer: noTracer,
      keys: new FakeKeys(random.split(`${this.name}/keys/${life.number}`)),
      host: this.host,
      logOf: (module) => logOf(this.name, module),
    };
  }

  #say(what: string): void {
    this.#around.trace.record(`${this.#around.clock.monotonicMs()} ${this.name} ${what}`);
  }
}

/** A request to a hook's path is recorded like a command: it was run in the container. */
const serverOf = (health: Health, { commands }: Pick<ContainerRecord, "commands">): FakeServer => ({
  http: ({ target }) => {
    const run: CommandRun = { argv: ["GET", target], begunWallNs: 0n };
    if (target.startsWith(HOOK_PATHS)) commands.push(run);
    if (health === "silent") return { kind: "silent" };
    run.ended = { wallNs: 0n, exitCode: 0 };
    return { kind: "answer", status: health };
  },
  grpc: () =>
    health === "silent" ? { kind: "silent" } : { kind: "status", status: isWell(health) ? "SERVING" : "NOT_SERVING" },
});

const unansweredMount = (name: string, path: string) => new MountError(name, path, "unresponsive", "no answer");

/** Each container has its own cgroup below its pod's; the runtime creates and removes it. */
function inCgroups(cgroups: FakeCgroups): ProcessWatcher {
  const nameOf = (parent: string, id: string) => [...parseCgroupPath(parent), id];
  return {
    started: (pid, parent, id) => {
      void cgroups.apply(nameOf(parent, id), {});
      cgroups.place(pid, nameOf(parent, id));
    },
    ended: (pid) => cgroups.ended(pid),
    removed: (parent, id) => void cgroups.destroy(nameOf(parent, id), new AbortController().signal),
  };
}
