/**
 * Observes a node's containers from outside: by their processes in the kernel's cgroups, by the files the runtime keeps
 * for each container, and by containerd's events. It never queries a kubelet, and continues while containerd is down.
 *
 * A container counts as started when its own program runs, not while the runtime still prepares it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { hierarchies } from "../cluster/cgroups.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { buildParts } from "../cluster/parts.ts";

export interface SeenContainer {
  readonly id: string;
  readonly uid: string;
  /** Empty for a sandbox. */
  readonly name: string;
  readonly firstSeenMs: number;
  /** Start of the last inspection that found its program running. */
  lastAliveMs: number;
  alive: boolean;
  /** From containerd's event; missing when containerd was down. */
  exitCode?: number;
}

export interface Verdict {
  readonly doubled: readonly string[];
  readonly lost: readonly string[];
  readonly restarted: readonly string[];
}

const LOOK_EVERY_MS = 50;
const BUNDLES = "run/containerd/io.containerd.runtime.v2.task/k8s.io";

export class OutsideOracle {
  readonly #bundles: string;
  readonly #groups: readonly string[];
  readonly #events: EventFollower;
  readonly #seen = new Map<string, SeenContainer>();
  readonly #names = new Map<string, { readonly uid: string; readonly name: string }>();
  readonly #mayEnd = new Map<string, number>();
  readonly #cutShort = new Set<string>();
  readonly #doubled = new Map<string, string>();
  readonly #timer: NodeJS.Timeout;
  #looks = 0;

  private constructor(bundles: string, groups: readonly string[], events: EventFollower) {
    this.#bundles = bundles;
    this.#groups = groups;
    this.#events = events;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  static async start(cluster: Cluster, nodeName: string): Promise<OutsideOracle> {
    const node = cluster.nodes.find(({ name }) => name === nodeName);
    if (node === undefined) throw new Error(`no node ${nodeName}`);
    const roots = await hierarchies();
    const root = roots.find((path) => path.endsWith("/pids")) ?? roots[0] ?? "";
    const pods = join(root, node.cgroupParent, "kubepods");
    const groups = [pods, join(pods, "burstable"), join(pods, "besteffort")];
    const bundles = `/proc/${cluster.component(`anchor@${nodeName}`).pid}/root/${BUNDLES}`;
    const ctr = [(await buildParts()).path("ctr"), "--address", node.containerdSocket, "--namespace", "k8s.io"];
    return new OutsideOracle(bundles, groups, new EventFollower(ctr));
  }

  /** From now on, exits of this pod's containers are expected. */
  mayEnd(uid: string): void {
    if (!this.#mayEnd.has(uid)) this.#mayEnd.set(uid, Date.now());
  }

  /** The exit of this container is expected, and so is the start of its replacement. */
  hasCause(id: string): void {
    this.#cutShort.add(id);
  }

  /** All containers that have run or are running, including sandboxes. */
  get containers(): readonly SeenContainer[] {
    this.#look();
    return [...this.#seen.values()];
  }

  /** Number of inspections so far. */
  get looks(): number {
    return this.#looks;
  }

  /** All containers of the pod that ever ran, in the order in which they were observed. */
  containersOf(uid: string): readonly SeenContainer[] {
    this.#look();
    return [...this.#seen.values()].filter((container) => container.uid === uid && container.name !== "");
  }

  sandboxesOf(uid: string): readonly SeenContainer[] {
    this.#look();
    return [...this.#seen.values()].filter((container) => container.uid === uid && container.name === "");
  }

  /** PIDs of a pod's containers, without its sandbox. */
  pidsOf(uid: string): readonly number[] {
    const ids = new Set(this.containersOf(uid).map(({ id }) => id));
    const directories = [...this.#directories()].filter(({ id }) => ids.has(id)).map(({ directory }) => directory);
    return directories.flatMap((directory) =>
      read(join(directory, "cgroup.procs")).split("\n").filter(Boolean).map(Number),
    );
  }

  /** Kills every process of a pod's containers, as the OOM killer does; the sandbox stays. */
  killContainers(uid: string): void {
    for (const pid of this.pidsOf(uid)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        // When the first process of a container dies, the kernel kills the others.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }

  /** UIDs of pods with at least one running container or sandbox. */
  get living(): ReadonlySet<string> {
    this.#look();
    return new Set([...this.#seen.values()].filter(({ alive }) => alive).map(({ uid }) => uid));
  }

  /** Violations among all observed containers, given the exits that the test expects. */
  verdict(): Verdict {
    this.#look();
    const lost: string[] = [];
    const runs = new Map<string, SeenContainer[]>();
    for (const container of this.#seen.values()) {
      const { uid, name, id, alive } = container;
      if (this.#cutShort.has(id)) continue;
      if (!alive && !this.#mayEnd.has(uid)) lost.push(`${uid} ${name === "" ? "sandbox" : name} ${id.slice(0, 12)}`);
      if (name !== "") runs.set(`${uid} ${name}`, [...(runs.get(`${uid} ${name}`) ?? []), container]);
    }
    const restarted = [...runs]
      .filter(([, all]) => all.length > 1)
      .map(([key, all]) => `${key}: ${all.map(({ id, exitCode }) => `${id.slice(0, 12)} (${exitCode})`).join(", ")}`);
    return { doubled: [...this.#doubled.values()], lost, restarted };
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#events.stop();
  }

  #look(): void {
    this.#looks += 1;
    const nowMs = Date.now();
    const alive = new Set<string>();
    for (const { uid, id, directory } of this.#directories()) {
      const known = this.#seen.get(id);
      if (!this.#runs(directory, known !== undefined)) continue;
      const named = this.#nameOf(id, uid);
      if (named === undefined) continue;
      alive.add(id);
      if (known === undefined) {
        this.#seen.set(id, { id, ...named, firstSeenMs: nowMs, lastAliveMs: nowMs, alive: true });
      } else {
        known.lastAliveMs = nowMs;
      }
    }
    for (const [id, exitCode] of this.#events.exits) {
      const known = this.#seen.get(id);
      if (known !== undefined) known.exitCode = exitCode;
    }
    for (const container of this.#seen.values()) container.alive = alive.has(container.id);
    this.#takeStarts(nowMs);
    this.#findDoubled();
  }

  /** Containers that started and exited between two inspections appear only in the events. */
  #takeStarts(nowMs: number): void {
    for (const id of this.#events.starts) {
      if (this.#seen.has(id)) continue;
      const named = this.#nameOf(id, undefined);
      if (named === undefined) continue;
      this.#seen.set(id, { id, ...named, firstSeenMs: nowMs, lastAliveMs: nowMs, alive: false });
    }
    this.#events.starts.clear();
  }

  *#directories(): Iterable<{ readonly uid: string; readonly id: string; readonly directory: string }> {
    for (const group of this.#groups) {
      for (const pod of directoriesOf(group)) {
        if (!pod.startsWith("pod")) continue;
        for (const id of directoriesOf(join(group, pod))) {
          if (/^[0-9a-f]{64}$/.test(id)) yield { uid: pod.slice(3), id, directory: join(group, pod, id) };
        }
      }
    }
  }

  #runs(directory: string, known: boolean): boolean {
    const pids = read(join(directory, "cgroup.procs")).split("\n").filter(Boolean);
    if (known || pids.length === 0) return pids.length > 0;
    return pids.some((pid) => {
      const [program = "", verb] = read(`/proc/${pid}/cmdline`).split("\0");
      return program !== "" && !(/runc$|\/proc\/self\/exe$/.test(program) && verb === "init");
    });
  }

  /** Undefined before the runtime has written the container's config.json, and after it has removed it. */
  #nameOf(id: string, uid: string | undefined): { readonly uid: string; readonly name: string } | undefined {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const text = read(join(this.#bundles, id, "config.json"));
    if (text === "") return undefined;
    const { annotations = {} } = JSON.parse(text) as { annotations?: Readonly<Record<string, string>> };
    const podUid = annotations["io.kubernetes.cri.sandbox-uid"] ?? uid;
    if (podUid === undefined) return undefined;
    const named = { uid: podUid, name: annotations["io.kubernetes.cri.container-name"] ?? "" };
    this.#names.set(id, named);
    return named;
  }

  #findDoubled(): void {
    const running = new Map<string, SeenContainer>();
    for (const container of this.#seen.values()) {
      if (!container.alive) continue;
      const key = `${container.uid} ${container.name === "" ? "sandbox" : container.name}`;
      const other = running.get(key);
      if (other !== undefined) {
        this.#doubled.set(
          `${other.id} ${container.id}`,
          `${key}: ${other.id.slice(0, 12)}, ${container.id.slice(0, 12)}`,
        );
      }
      running.set(key, container);
    }
  }
}

/** Follows containerd's events across its restarts. */
class EventFollower {
  readonly starts = new Set<string>();
  readonly exits = new Map<string, number>();
  readonly #ctr: readonly string[];
  #child: ChildProcess | undefined;
  #ended = false;

  constructor(ctr: readonly string[]) {
    this.#ctr = ctr;
    this.#follow();
  }

  stop(): void {
    this.#ended = true;
    this.#child?.kill("SIGKILL");
  }

  #follow(): void {
    if (this.#ended) return;
    const [file = "", ...args] = this.#ctr;
    const child = spawn(file, [...args, "events"], { stdio: ["ignore", "pipe", "ignore"] });
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => this.#take(line));
    child.once("close", () => setTimeout(() => this.#follow(), 200));
  }

  #take(line: string): void {
    const event = /\/tasks\/(?<what>start|exit) (?<body>\{.*\})$/.exec(line)?.groups;
    if (event === undefined) return;
    const body = JSON.parse(event["body"] ?? "{}") as { container_id?: string; id?: string; exit_status?: number };
    const id = body.container_id ?? "";
    if (event["what"] === "start") this.starts.add(id);
    // The exit of a process that was exec'd in a container carries another id.
    else if (body.id === undefined || body.id === id) this.exits.set(id, body.exit_status ?? 0);
  }
}

const directoriesOf = (path: string): readonly string[] => {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return []; // It was removed meanwhile.
  }
};

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // It was removed meanwhile.
  }
};
