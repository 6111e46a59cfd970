/**
 * An in-memory container runtime for one node. It implements the Runtime and Images ports and passes their contract
 * suites, as containerd behind `wire/cri` does. It is part of the world, not of the agent: it outlives every agent, and
 * its containers outlive it.
 */
import type { Images } from "../../src/ports/images.ts";
import type { Runtime } from "../../src/ports/runtime.ts";
import type { Life } from "../port-calls.ts";
import { type Health, totalUse, type Use } from "./behaviour.ts";
import { RuntimeCaller } from "./caller.ts";
import { type FakeRuntimeOptions, refuse } from "./node-state.ts";
import { type RuntimeParts, runtimeParts } from "./parts.ts";
import type { ContainerRecord, SandboxRecord } from "./records.ts";
import type { FakeRegistry } from "./registry.ts";
import { imagesPort, runtimePort } from "./runtime-port.ts";

export interface FakeRuntimeClient {
  readonly runtime: Runtime;
  readonly images: Images;
  /** Breaks calls in progress; every later call fails with "unavailable". */
  close(): void;
}

const SANDBOX_IMAGE = "registry.k8s.io/pause:3.10.2";

export class FakeRuntime {
  readonly #parts: RuntimeParts;

  constructor(options: FakeRuntimeOptions, registry: FakeRegistry) {
    this.#parts = runtimeParts(options, registry);
    this.#parts.images.load(SANDBOX_IMAGE, { isPinned: true });
  }

  connect(life: Life, options: { readonly requestLimitMs?: number } = {}): FakeRuntimeClient {
    const caller = new RuntimeCaller(this.#parts, life, options.requestLimitMs);
    return { runtime: runtimePort(caller), images: imagesPort(caller), close: () => caller.close() };
  }

  /** The actual state, for oracles. */
  get sandboxes(): ReadonlyMap<string, Readonly<SandboxRecord>> {
    return this.#parts.state.sandboxes;
  }

  get containers(): ReadonlyMap<string, Readonly<ContainerRecord>> {
    return this.#parts.state.containers;
  }

  /** IP addresses in use. */
  get addresses(): ReadonlySet<string> {
    return this.#parts.state.ips;
  }

  /** The container's current health answer. */
  healthOf(id: string): Health | undefined {
    const record = this.#parts.state.containers.get(id);
    return record === undefined ? undefined : this.#parts.containers.healthOf(record);
  }

  /** What all containers use. The writable layer of a dead container remains until the container is removed. */
  get use(): Use {
    return totalUse([...this.containers.values()].flatMap(({ process }) => process?.use ?? []));
  }

  /** What the main process of a container uses. */
  useOf(pid: number): Use {
    const record = [...this.containers.values()].find(({ process }) => process?.pid === pid);
    return record?.process?.use ?? totalUse([]);
  }

  /** How often the runtime has died. */
  get deaths(): number {
    return this.#parts.state.deaths;
  }

  /** Whether the runtime is alive and not paused. */
  get answers(): boolean {
    return !this.#parts.state.isDead && !this.#parts.server.isPaused;
  }

  /** Images; with `knobs` (durations, network, events, user namespaces), what a scenario configures. */
  get images(): RuntimeParts["images"] {
    return this.#parts.images;
  }

  get knobs(): Pick<RuntimeParts["state"], "durations" | "network" | "events" | "userNamespaces"> {
    return this.#parts.state;
  }

  /** Kills the runtime; its containers keep running. */
  kill(): void {
    this.#parts.server.kill();
  }

  /**
   * Restarts the runtime from its stored state. Names reserved for sandboxes and containers that were never created
   * become free.
   */
  restart(): void {
    const { state, server, containers, sandboxes } = this.#parts;
    if (!state.isDead) server.kill();
    server.revive();
    state.containerNames.keepOnly(new Set([...state.containers.values()].map(({ name }) => name)));
    state.sandboxNames.keepOnly(new Set([...state.sandboxes.values()].map(({ name }) => name)));
    containers.recover();
    sandboxes.recover();
  }

  /** Makes the runtime stop answering. */
  pause(): void {
    this.#parts.server.pause();
  }

  resume(): void {
    this.#parts.server.resume();
  }

  /** Breaks the event stream, as when a proxy drops the connection. */
  breakEvents(): void {
    this.#parts.state.events.breakAll(refuse("GetContainerEvents", "unavailable", "the stream broke"));
  }

  /** Kills this process from outside the agent and the runtime. */
  killProcess(pid: number): void {
    for (const { process } of [...this.#parts.state.containers.values(), ...this.#parts.state.sandboxes.values()])
      if (process?.pid === pid) process.signal("SIGKILL");
  }

  /** Makes a container's process exit now with this code, whatever its behavior says. */
  endProcess(containerId: string, code: number): void {
    this.#parts.state.containers.get(containerId)?.process?.exit({ code, oomKilled: false });
  }

  /** Starts an exited container again, from outside the agent. */
  revive(containerId: string): void {
    const record = this.#parts.state.containers.get(containerId);
    if (record !== undefined) this.#parts.containers.revive(record);
  }

  /** Removes an exited container, from outside the agent. */
  async discard(containerId: string): Promise<void> {
    const record = this.#parts.state.containers.get(containerId);
    if (record !== undefined) await this.#parts.containers.remove(record, new AbortController().signal);
  }

  /** Makes the runtime lose track of a running container: its state becomes unknown. */
  loseTrackOf(containerId: string): void {
    const record = this.#parts.state.containers.get(containerId);
    if (record?.state === "running") record.state = "unknown";
  }

  /**
   * Makes the runtime miss a container's exit: stopped or not, the container is listed as running until it is removed.
   */
  overlook(containerId: string): void {
    const record = this.#parts.state.containers.get(containerId);
    if (record !== undefined) record.overlooked = true;
  }

  /** Reboots the machine after a power loss: no process is left, no address is in use, and the runtime restarts. */
  reboot(): void {
    const { state, server } = this.#parts;
    if (!state.isDead) server.kill();
    for (const { process } of [...state.containers.values(), ...state.sandboxes.values()])
      process?.exit({ code: 137, oomKilled: false });
    for (const sandbox of state.sandboxes.values()) sandbox.ips = [];
    state.ips.clear();
    this.restart();
  }
}
