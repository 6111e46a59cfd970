/**
 * Containers of the fake runtime: create, start, stop, remove, inspect, list. Surprising error codes are containerd's.
 */
import { sleep } from "../../src/concurrency/sleep.ts";
import type {
  Container,
  ContainerConfig,
  ContainerFilter,
  ContainerStatus,
} from "../../src/domain/runtime/container.ts";
import type { LinuxResources } from "../../src/domain/runtime/resources.ts";
import {
  type Behaviour,
  HEALTH_COMMAND,
  type Health,
  healthAt,
  healthCommand,
  parseScript,
  SERVER,
} from "./behaviour.ts";
import type { ImageStore } from "./image-store.ts";
import { ContainerLog, NO_LOGS } from "./logs.ts";
import { type NodeState, refuse } from "./node-state.ts";
import { Process, type ProcessEnd } from "./process.ts";
import { type ContainerRecord, containerName, labelsFit, type SandboxRecord } from "./records.ts";

const NEVER = new AbortController().signal;
const START_ERROR_CODE = 128;
const LOST_CODE = 255;

export class Containers {
  readonly #state: NodeState;
  readonly #images: ImageStore;

  constructor(state: NodeState, images: ImageStore) {
    this.#state = state;
    this.#images = images;
  }

  async create(sandboxId: string, config: ContainerConfig, signal: AbortSignal): Promise<string> {
    const operation = "CreateContainer";
    const sandbox = this.#state.sandboxes.get(sandboxId);
    if (sandbox === undefined) throw refuse(operation, "notFound", `no sandbox ${sandboxId}`);
    const id = this.#state.newId();
    const name = containerName(config, sandbox.config.metadata);
    const owner = this.#state.containerNames.take(name, id);
    if (owner !== undefined) throw refuse(operation, "failedPrecondition", `name "${name}" is reserved for "${owner}"`);
    const image = this.#images.find(config.image.image);
    if (image === undefined) {
      this.#state.containerNames.release(name);
      throw refuse(operation, "notFound", `no image ${config.image.image}`);
    }
    const { durations, deaths } = this.#state;
    const { createContainerMs } = durations;
    if (createContainerMs > 0) {
      await sleep(this.#state.options.clock, createContainerMs, NEVER);
      // A create whose caller has left may still complete, or leave only its name, which stays reserved.
      if (this.#state.deaths > deaths || (signal.aborted && this.#state.options.random.fraction() < 0.5))
        throw refuse(operation, "cancelled", "the caller has left");
    }
    this.#state.containers.set(id, {
      id,
      name,
      sandboxId,
      config,
      createdWallNs: this.#state.wallNs(),
      imageId: image.id,
      imageRef: image.digests[0] ?? image.id,
      logPath: config.logPath === undefined ? "" : `${sandbox.config.logDirectory ?? ""}/${config.logPath}`,
      environment: new Map((config.environment ?? []).map(({ name, value }) => [name, asText(value)])),
      state: "created",
      resources: config.resources,
      annotations: config.annotations ?? {},
      starting: false,
      startedWallNs: undefined,
      startedMonotonicMs: 0,
      finishedWallNs: undefined,
      exitCode: 0,
      reason: "",
      message: "",
      process: undefined,
      log: undefined,
      commands: [],
      stops: [],
      waiters: new Set(),
    });
    this.#state.tell("created", id, sandbox);
    return id;
  }

  async start(id: string): Promise<void> {
    const operation = "StartContainer";
    const record = this.get(operation, id);
    const sandbox = this.#state.sandboxes.get(record.sandboxId);
    if (record.state !== "created" || record.starting)
      throw refuse(operation, "unknown", `container ${id} is ${record.starting ? "starting" : record.state}`);
    if (sandbox?.state !== "ready") throw refuse(operation, "unknown", `sandbox of ${id} is not running`);
    const behaviour = this.behaviourOf(record, [...(record.config.command ?? []), ...(record.config.args ?? [])]);
    const { durations, deaths } = this.#state;
    const startMs = durations.startContainerMs + (behaviour.startMs ?? 0);
    if (startMs > 0) {
      record.starting = true;
      // The start continues even if the caller has left: this is how an unknown container comes to run.
      await sleep(this.#state.options.clock, startMs, NEVER);
      record.starting = false;
      if (this.#state.deaths > deaths || record.state !== "created" || !this.#state.containers.has(id))
        throw refuse(operation, "unknown", `the start of ${id} was cut short`);
    }
    if (behaviour.cannotStart !== undefined) {
      Object.assign(record, { message: behaviour.cannotStart, finishedWallNs: this.#state.wallNs() });
      Object.assign(record, { state: "exited", exitCode: START_ERROR_CODE, reason: "StartError" });
      throw refuse(operation, "unknown", behaviour.cannotStart);
    }
    this.#run(record, sandbox, behaviour);
  }

  #run(record: ContainerRecord, sandbox: SandboxRecord, behaviour: Behaviour): void {
    const { clock, logs = NO_LOGS, processes } = this.#state.options;
    record.state = "running";
    record.startedWallNs = this.#state.wallNs();
    record.startedMonotonicMs = this.#state.options.clock.monotonicMs();
    const log = record.logPath === "" ? undefined : new ContainerLog(logs, record.logPath);
    record.log = log;
    const pid = this.#state.newPid();
    processes?.started(pid, sandbox.config.cgroupParent ?? "", record.id);
    record.process = new Process({
      clock,
      pid,
      behaviour,
      environment: record.environment,
      memoryLimitBytes: () => record.resources?.memoryLimitBytes,
      onOutput: (stream, bytes) => log?.write(stream, bytes, this.#state.wallNs()),
      onEnd: (end) => {
        processes?.ended(pid);
        // A dead runtime does not observe how the process ended.
        if (!this.#state.isDead && record.overlooked !== true) this.ended(record, end);
      },
    });
    this.#state.tell("started", record.id, sandbox);
  }

  /** Another program starts an exited container again. */
  revive(record: ContainerRecord): void {
    const sandbox = this.#state.sandboxes.get(record.sandboxId);
    if (record.state !== "exited" || sandbox?.state !== "ready") return;
    record.revived = true;
    this.#run(record, sandbox, SERVER);
  }

  /** The health that the container's process reports; undefined if nothing listens. */
  healthOf(record: ContainerRecord): Health | undefined {
    if (record.state !== "running") return undefined;
    const { config } = record;
    const own = this.behaviourOf(record, [...(config.command ?? []), ...(config.args ?? [])]);
    return healthAt(own, this.#state.options.clock.monotonicMs() - record.startedMonotonicMs);
  }

  /** The behavior of a command: its script, the world's table, or a server that exits on SIGTERM. */
  behaviourOf(record: ContainerRecord, argv: readonly string[]): Behaviour {
    const { config, sandboxId } = record;
    if (argv[0] === HEALTH_COMMAND[0]) return healthCommand(this.healthOf(record));
    const sandbox = this.#state.sandboxes.get(sandboxId);
    const known = sandbox && this.#state.options.behaviourOf?.(argv, config, sandbox.config);
    return parseScript(argv) ?? known ?? SERVER;
  }

  ended(record: ContainerRecord, { code, oomKilled }: ProcessEnd): void {
    this.#finish(record, code, oomKilled ? "OOMKilled" : code === 0 ? "Completed" : "Error");
  }

  #finish(record: ContainerRecord, exitCode: number, reason: string): void {
    Object.assign(record, { state: "exited", finishedWallNs: this.#state.wallNs(), exitCode, reason });
    for (const wake of record.waiters) wake();
    record.waiters.clear();
    this.#state.tell("stopped", record.id, this.#state.sandboxes.get(record.sandboxId));
  }

  /** The runtime is back: it observes which containers ended meanwhile, but not how. */
  recover(): void {
    for (const record of this.#state.containers.values()) {
      const hasEnded = record.state === "running" && record.process?.end !== undefined;
      if (hasEnded && record.overlooked !== true) this.#finish(record, LOST_CODE, "Unknown");
    }
  }

  async stop(record: ContainerRecord, graceSeconds: number, signal: AbortSignal): Promise<void> {
    if (record.state !== "running" && record.state !== "unknown") return;
    record.stops.push(graceSeconds);
    const { process } = record;
    if (record.overlooked === true) return process?.signal("SIGKILL");
    if (process === undefined || process.end !== undefined) {
      this.#finish(record, LOST_CODE, "Unknown");
      return;
    }
    if (graceSeconds > 0) {
      process.signal(record.config.stopSignal ?? "SIGTERM");
      if (await this.#endsWithin(record, graceSeconds * 1000, signal)) return;
    }
    process.signal("SIGKILL");
    await this.#endsWithin(record, Number.POSITIVE_INFINITY, signal);
  }

  async remove(record: ContainerRecord, signal: AbortSignal): Promise<void> {
    if (record.starting) throw refuse("RemoveContainer", "unknown", "container is in starting state, can't be removed");
    await this.stop(record, 0, signal);
    if (!this.#state.containers.delete(record.id)) return;
    const sandbox = this.#state.sandboxes.get(record.sandboxId);
    this.#state.containerNames.release(record.name);
    this.#state.options.processes?.removed(sandbox?.config.cgroupParent ?? "", record.id);
    this.#state.tell("deleted", record.id, sandbox);
  }

  #endsWithin(record: ContainerRecord, limitMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        record.waiters.delete(onEnd);
        signal.removeEventListener("abort", onAbort);
        cancel?.();
        act();
      };
      const onEnd = () => settle(() => resolve(true));
      const onAbort = () => settle(() => reject(signal.reason));
      const cancel =
        limitMs === Number.POSITIVE_INFINITY
          ? undefined
          : this.#state.options.clock.after(limitMs, () => settle(() => resolve(false)));
      record.waiters.add(onEnd);
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
  }

  updateResources(id: string, resources: LinuxResources, annotations: Readonly<Record<string, string>>): void {
    const record = this.get("UpdateContainerResources", id);
    if (record.state === "exited") return;
    record.resources = { ...record.resources, ...resources };
    record.annotations = { ...record.annotations, ...annotations };
    record.process?.checkMemory();
  }

  reopenLog(id: string): void {
    const record = this.get("ReopenContainerLog", id);
    if (record.state !== "running") throw refuse("ReopenContainerLog", "unknown", `container ${id} is not running`);
    record.log?.reopen();
  }

  get(operation: string, id: string): ContainerRecord {
    const record = this.#state.containers.get(id);
    if (record === undefined) throw refuse(operation, "notFound", `no container ${id}`);
    return record;
  }

  list({ id, state, sandboxId, labels }: ContainerFilter): readonly Container[] {
    const found: Container[] = [];
    for (const record of this.#state.containers.values()) {
      if (id !== undefined && record.id !== id) continue;
      if (state !== undefined && record.state !== state) continue;
      if (sandboxId !== undefined && record.sandboxId !== sandboxId) continue;
      if (labelsFit(record.config.labels ?? {}, labels)) found.push(lineOf(record));
    }
    return found;
  }

  ofSandbox(sandboxId: string): readonly ContainerRecord[] {
    return [...this.#state.containers.values()].filter((record) => record.sandboxId === sandboxId);
  }
}

/** The runtime treats environment values as text. */
const asText = (value: Uint8Array) => new TextEncoder().encode(new TextDecoder().decode(value));

const lineOf = (record: ContainerRecord): Container => ({
  id: record.id,
  sandboxId: record.sandboxId,
  metadata: record.config.metadata,
  state: record.state,
  createdWallNs: record.createdWallNs,
  image: record.config.image,
  imageRef: record.imageRef,
  imageId: record.imageId,
  labels: record.config.labels ?? {},
  annotations: record.annotations,
});

export const statusOf = (record: ContainerRecord): ContainerStatus => ({
  id: record.id,
  metadata: record.config.metadata,
  state: record.state,
  createdWallNs: record.createdWallNs,
  ...(record.startedWallNs !== undefined && { startedWallNs: record.startedWallNs }),
  ...(record.finishedWallNs !== undefined && { finishedWallNs: record.finishedWallNs }),
  exitCode: record.exitCode,
  reason: record.reason,
  message: record.message,
  image: record.config.image,
  imageRef: record.imageRef,
  imageId: record.imageId,
  labels: record.config.labels ?? {},
  annotations: record.annotations,
  mounts: record.config.mounts ?? [],
  logPath: record.logPath,
  ...(record.resources !== undefined && { resources: record.resources }),
  ...(record.config.stopSignal !== undefined && { stopSignal: record.config.stopSignal }),
});
