/** Cgroups in memory: a tree of names with values and processes. Kills take effect at once. */
import { assert } from "../src/base/assert.ts";
import { Notifier } from "../src/concurrency/notifier.ts";
import { cgroupPath, quotedName } from "../src/domain/resources/cgroup-name.ts";
import type { CgroupName, CgroupValues } from "../src/domain/resources/cgroup-values.ts";
import type { CgroupDriver } from "../src/domain/runtime/runtime-info.ts";
import type { CgroupMemory, Cgroups } from "../src/ports/cgroups.ts";

interface Group {
  readonly values: CgroupValues;
  readonly pids: Set<number>;
}

export interface FakeCgroupsOptions {
  readonly version?: 1 | 2;
  readonly driver?: CgroupDriver;
  /** The cgroup that all names are relative to. */
  readonly root?: CgroupName;
  /** Called for every process that `destroy` kills. */
  readonly onKill?: (pid: number) => void;
  /** What a process uses, in addition to what its cgroup was filled with. */
  readonly memoryOf?: (pid: number) => number;
}

export class FakeCgroups implements Cgroups {
  readonly version: 1 | 2;
  readonly driver: CgroupDriver;
  readonly #root: CgroupName;
  readonly #onKill: (pid: number) => void;
  readonly #memoryOf: (pid: number) => number;
  readonly #groups = new Map<string, Group>();
  readonly #memoryInUse = new Map<string, bigint>();
  readonly #memoryEvents = new Map<string, Notifier>();

  constructor({
    version = 2,
    driver = "cgroupfs",
    root = [],
    onKill = () => {},
    memoryOf = () => 0,
  }: FakeCgroupsOptions = {}) {
    this.version = version;
    this.driver = driver;
    this.#root = root;
    this.#onKill = onKill;
    this.#memoryOf = memoryOf;
    this.#make([]);
  }

  pathOf(name: CgroupName): string {
    return cgroupPath([...this.#root, ...name], this.driver);
  }

  /** Whether a cgroup of this name exists anywhere. For checkers. */
  has(part: string): boolean {
    return [...this.#groups.keys()].some((path) => path.split("/").includes(part));
  }

  /** Whether exactly this cgroup exists and contains the process. For checkers. */
  holds(name: CgroupName, pid: number): boolean {
    return this.#groups.get(name.join("/"))?.pids.has(pid) === true;
  }

  hasSwapAccounting(): Promise<boolean> {
    return Promise.resolve(true);
  }

  exists(name: CgroupName): Promise<boolean> {
    return Promise.resolve(this.#groups.has(name.join("/")));
  }

  async validationError(name: CgroupName): Promise<string | undefined> {
    if (await this.exists(name)) return undefined;
    const file = `/sys/fs/cgroup${this.pathOf(name)}/cgroup.controllers`;
    const whole = quotedName([...this.#root, ...name]);
    return `could not read controllers for cgroup ${whole}: open ${file}: no such file or directory`;
  }

  apply(name: CgroupName, values: CgroupValues): Promise<void> {
    for (let depth = 1; depth <= name.length; depth += 1) this.#make(name.slice(0, depth));
    const group = this.#group(name);
    this.#groups.set(name.join("/"), { ...group, values: { ...group.values, ...values } });
    return Promise.resolve();
  }

  children(name: CgroupName): Promise<readonly string[]> {
    const depth = name.length;
    const below = this.#below(name).filter((path) => path.length === depth + 1);
    return Promise.resolve(below.map((path) => path[depth] ?? "").sort());
  }

  memory(name: CgroupName): Promise<CgroupMemory | undefined> {
    if (!this.#groups.has(name.join("/"))) return Promise.resolve(undefined);
    const { memoryLimitBytes = -1n } = this.#group(name).values;
    const workingSetBytes = [name, ...this.#below(name)]
      .map((group) => (this.#memoryInUse.get(group.join("/")) ?? 0n) + this.#memoryOfProcesses(group))
      .reduce((sum, bytes) => sum + bytes, 0n);
    return Promise.resolve({ workingSetBytes, limitBytes: memoryLimitBytes < 0n ? undefined : memoryLimitBytes });
  }

  async *memoryEvents(name: CgroupName, signal: AbortSignal): AsyncGenerator<void, void, void> {
    if (this.version === 1) return;
    const path = name.join("/");
    const events = this.#memoryEvents.get(path) ?? new Notifier();
    this.#memoryEvents.set(path, events);
    try {
      for (let seen = 0; ; ) {
        seen = await events.changed(seen, signal);
        yield;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** For the simulated world: processes in this cgroup met a limit of memory. */
  meetLimit(name: CgroupName): void {
    for (let depth = 0; depth <= name.length; depth += 1)
      this.#memoryEvents.get(name.slice(0, depth).join("/"))?.notify();
  }

  processes(name: CgroupName): Promise<readonly number[]> {
    const groups = this.#groups.has(name.join("/")) ? [name, ...this.#below(name)] : [];
    const pids = groups.flatMap((group) => [...this.#group(group).pids]);
    return Promise.resolve(pids.sort((a, b) => a - b));
  }

  async destroy(name: CgroupName, signal: AbortSignal): Promise<void> {
    assert(name.length > 0, "the group everything is in is not ours to remove");
    signal.throwIfAborted();
    for (const pid of await this.processes(name)) this.#onKill(pid);
    for (const group of [name, ...this.#below(name)]) {
      this.#memoryInUse.delete(group.join("/"));
      this.#groups.delete(group.join("/"));
    }
  }

  /** For the simulated world: a process starts in, or moves to, an existing cgroup. */
  place(pid: number, name: CgroupName): void {
    for (const group of this.#groups.values()) group.pids.delete(pid);
    this.#group(name).pids.add(pid);
  }

  /** For the simulated world: sets how much memory the processes directly in this cgroup use. */
  fill(name: CgroupName, bytes: bigint): void {
    this.#group(name);
    this.#memoryInUse.set(name.join("/"), bytes);
  }

  /** For the simulated world: a process ended by itself. */
  ended(pid: number): void {
    for (const group of this.#groups.values()) group.pids.delete(pid);
  }

  valuesOf(name: CgroupName): CgroupValues {
    return this.#group(name).values;
  }

  #memoryOfProcesses(name: CgroupName): bigint {
    return [...this.#group(name).pids].reduce((sum, pid) => sum + BigInt(this.#memoryOf(pid)), 0n);
  }

  #make(name: CgroupName): void {
    const key = name.join("/");
    if (!this.#groups.has(key)) this.#groups.set(key, { values: {}, pids: new Set() });
  }

  #group(name: CgroupName): Group {
    const group = this.#groups.get(name.join("/"));
    assert(group !== undefined, `there is no group ${name.join("/")}`);
    return group;
  }

  #below(name: CgroupName): readonly CgroupName[] {
    const inside = (path: CgroupName) => path.length > name.length && name.every((part, index) => path[index] === part);
    return [...this.#groups.keys()]
      .filter((key) => key !== "")
      .map((key) => key.split("/"))
      .filter(inside);
  }
}
