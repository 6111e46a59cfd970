/** Sandboxes of the fake runtime: run, stop, remove, inspect, list. */
import { sleep } from "../../src/concurrency/sleep.ts";
import type { Sandbox, SandboxConfig, SandboxFilter, SandboxView } from "../../src/domain/runtime/sandbox.ts";
import { type Containers, statusOf } from "./containers.ts";
import { type NodeState, refuse } from "./node-state.ts";
import { Process } from "./process.ts";
import { labelsFit, type SandboxRecord, sandboxName } from "./records.ts";

const OTHER_HANDLER = "test-handler";
export const HANDLERS: readonly string[] = ["", "runc", OTHER_HANDLER];

const NEVER = new AbortController().signal;

export class Sandboxes {
  readonly #state: NodeState;
  readonly #containers: Containers;

  constructor(state: NodeState, containers: Containers) {
    this.#state = state;
    this.#containers = containers;
  }

  async run(config: SandboxConfig, runtimeHandler: string, signal: AbortSignal): Promise<string> {
    const operation = "RunPodSandbox";
    const id = this.#state.newId();
    const name = sandboxName(config.metadata);
    const owner = this.#state.sandboxNames.take(name, id);
    if (owner !== undefined) throw refuse(operation, "failedPrecondition", `name "${name}" is reserved for "${owner}"`);
    const fail = (detail: string) => {
      this.#state.sandboxNames.release(name);
      return refuse(operation, "unknown", detail);
    };
    if (!HANDLERS.includes(runtimeHandler)) throw fail(`no runtime for "${runtimeHandler}" is configured`);
    const { durations, deaths } = this.#state;
    const { runSandboxMs } = durations;
    if (runSandboxMs > 0) {
      await sleep(this.#state.options.clock, runSandboxMs, NEVER);
      const hasDied = this.#state.deaths > deaths;
      if (hasDied || signal.aborted) this.#cutShort(id, config, runtimeHandler, hasDied);
    }
    const { addError } = this.#state.network;
    const isOnNodeNetwork = config.security?.namespaces?.network === "node";
    if (addError !== undefined && !isOnNodeNetwork)
      throw fail(`failed to setup network for sandbox "${id}": ${addError}`);
    this.#begin(id, config, runtimeHandler, isOnNodeNetwork ? [] : [this.#state.takeAddress()]);
    return id;
  }

  /**
   * The outcome of an interrupted run, as for containers: the sandbox is created all the same, or only its name stays
   * reserved. A third outcome is a sandbox that never started and has no creation time. After a death of the runtime
   * only the name is left.
   */
  #cutShort(id: string, config: SandboxConfig, runtimeHandler: string, hasDied: boolean): void {
    const luck = hasDied ? 0 : this.#state.options.random.fraction();
    if (luck >= 0.6) return;
    if (luck >= 0.3) {
      const name = sandboxName(config.metadata);
      const unbegun = { createdWallNs: 0n, state: "notReady", ips: [], process: undefined } as const;
      this.#state.sandboxes.set(id, { id, name, config, runtimeHandler, ...unbegun });
    }
    throw refuse("RunPodSandbox", "cancelled", "the caller has left");
  }

  #begin(id: string, config: SandboxConfig, runtimeHandler: string, ips: readonly string[]): void {
    const { clock, processes } = this.#state.options;
    const pid = this.#state.newPid();
    const record: SandboxRecord = {
      id,
      name: sandboxName(config.metadata),
      config,
      runtimeHandler,
      createdWallNs: this.#state.wallNs(),
      state: "ready",
      ips,
      process: undefined,
    };
    processes?.started(pid, config.cgroupParent ?? "", id);
    record.process = new Process({
      clock,
      pid,
      behaviour: {},
      environment: new Map(),
      memoryLimitBytes: () => undefined,
      onOutput: () => {},
      onEnd: () => {
        processes?.ended(pid);
        if (!this.#state.isDead) this.#ended(record);
      },
    });
    this.#state.sandboxes.set(id, record);
    this.#state.tell("created", id, record);
    this.#state.tell("started", id, record);
  }

  #ended(record: SandboxRecord): void {
    if (record.state === "notReady") return;
    record.state = "notReady";
    this.#state.tell("stopped", record.id, record);
  }

  /** Marks the sandboxes that died while the runtime was down. */
  recover(): void {
    for (const record of this.#state.sandboxes.values()) if (record.process?.end !== undefined) this.#ended(record);
  }

  async stop(record: SandboxRecord, signal: AbortSignal): Promise<void> {
    for (const container of this.#containers.ofSandbox(record.id)) await this.#containers.stop(container, 0, signal);
    for (const ip of record.ips) this.#state.ips.delete(ip);
    record.ips = [];
    record.process?.exit({ code: 137, oomKilled: false });
  }

  async remove(record: SandboxRecord, signal: AbortSignal): Promise<void> {
    await this.stop(record, signal);
    for (const container of this.#containers.ofSandbox(record.id)) await this.#containers.remove(container, signal);
    if (!this.#state.sandboxes.delete(record.id)) return;
    this.#state.sandboxNames.release(record.name);
    this.#state.options.processes?.removed(record.config.cgroupParent ?? "", record.id);
    this.#state.tell("deleted", record.id, record);
  }

  get(operation: string, id: string): SandboxRecord {
    const record = this.#state.sandboxes.get(id);
    if (record === undefined) throw refuse(operation, "notFound", `no sandbox ${id}`);
    return record;
  }

  view(id: string, verbose: boolean): SandboxView {
    const record = this.get("PodSandboxStatus", id);
    const namespaces = record.config.security?.namespaces;
    return {
      status: { ...lineOf(record), ips: record.ips, ...(namespaces !== undefined && { namespaces }) },
      containers: this.#containers.ofSandbox(id).map(statusOf),
      readWallNs: this.#state.wallNs(),
      info: verbose ? { info: JSON.stringify({ pid: record.process?.pid }) } : {},
    };
  }

  list({ id, state, labels }: SandboxFilter): readonly Sandbox[] {
    return [...this.#state.sandboxes.values()]
      .filter((record) => id === undefined || record.id === id)
      .filter((record) => state === undefined || record.state === state)
      .filter((record) => labelsFit(record.config.labels ?? {}, labels))
      .map(lineOf);
  }
}

const lineOf = (record: SandboxRecord): Sandbox => ({
  id: record.id,
  metadata: record.config.metadata,
  state: record.state,
  createdWallNs: record.createdWallNs,
  labels: record.config.labels ?? {},
  annotations: record.config.annotations ?? {},
  runtimeHandler: record.runtimeHandler,
});
