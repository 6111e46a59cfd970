/**
 * A container runtime in memory, for one node: it implements the Runtime and Images ports and passes their contract suites, as containerd
 * behind `wire/cri` does. It is part of the world, not of the agent: it outlives every agent, and its containers outlive it.
 */
import type { Images } from "../../src/ports/images.ts";
import type { Runtime } from "../../src/ports/runtime.ts";
import type { Life } from "../port-calls.ts";
import type { Health } from "./behaviour.ts";
import { RuntimeCaller } from "./caller.ts";
import { type FakeRuntimeOptions, refuse } from "./node-state.ts";
import { type RuntimeParts, runtimeParts } from "./parts.ts";
import type { ContainerRecord, SandboxRecord } from "./records.ts";
import type { FakeRegistry } from "./registry.ts";
import { imagesPort, runtimePort } from "./runtime-port.ts";

export interface FakeRuntimeClient {
  readonly runtime: Runtime;
  readonly images: Images;
  /** Breaks what is under way; every later call fails "unavailable". */
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

  /** The truth, for checkers. */
  get sandboxes(): ReadonlyMap<string, Readonly<SandboxRecord>> {
    return this.#parts.state.sandboxes;
  }

  get containers(): ReadonlyMap<string, Readonly<ContainerRecord>> {
    return this.#parts.state.containers;
  }

  /** Addresses that are taken. */
  get addresses(): ReadonlySet<string> {
    return this.#parts.state.ips;
  }

  /** What the container answers at this moment to whoever asks how it is. */
  healthOf(id: string): Health | undefined {
    const record = this.#parts.state.containers.get(id);
    return record === undefined ? undefined : this.#parts.containers.healthOf(record);
  }

  /** How often it has died. */
  get deaths(): number {
    return this.#parts.state.deaths;
  }

  /** Whether it lives and is not paused. */
  get answers(): boolean {
    return !this.#parts.state.isDead && !this.#parts.server.isPaused;
  }

  /** Images, durations, network and lost events: what a scenario sets. */
  get images(): RuntimeParts["images"] {
    return this.#parts.images;
  }

  get knobs(): Pick<RuntimeParts["state"], "durations" | "network" | "events" | "userNamespaces"> {
    return this.#parts.state;
  }

  /** The runtime dies; its containers live on. */
  kill(): void {
    this.#parts.server.kill();
  }

  /** Back, from what it had stored. Names that were taken for what never came to be are free again. */
  restart(): void {
    const { state, server, containers, sandboxes } = this.#parts;
    if (!state.isDead) server.kill();
    server.revive();
    state.containerNames.keepOnly(new Set([...state.containers.values()].map(({ name }) => name)));
    state.sandboxNames.keepOnly(new Set([...state.sandboxes.values()].map(({ name }) => name)));
    containers.recover();
    sandboxes.recover();
  }

  /** It stops answering. */
  pause(): void {
    this.#parts.server.pause();
  }

  resume(): void {
    this.#parts.server.resume();
  }

  /** The event stream breaks, as when a proxy drops the connection. */
  breakEvents(): void {
    this.#parts.state.events.breakAll(refuse("GetContainerEvents", "unavailable", "the stream broke"));
  }

  /** Somebody kills this process behind everyone's back. */
  killProcess(pid: number): void {
    for (const { process } of [...this.#parts.state.containers.values(), ...this.#parts.state.sandboxes.values()])
      if (process?.pid === pid) process.signal("SIGKILL");
  }

  /** A container's process ends now with this code, whatever it was to do. */
  endProcess(containerId: string, code: number): void {
    this.#parts.state.containers.get(containerId)?.process?.exit({ code, oomKilled: false });
  }

  /** Somebody starts a container that has ended once more, behind everyone's back. */
  revive(containerId: string): void {
    const record = this.#parts.state.containers.get(containerId);
    if (record !== undefined) this.#parts.containers.revive(record);
  }

  /** Somebody removes a container that has ended. */
  async discard(containerId: string): Promise<void> {
    const record = this.#parts.state.containers.get(containerId);
    if (record !== undefined) await this.#parts.containers.remove(record, new AbortController().signal);
  }

  /** The runtime no longer knows what became of a container. */
  loseTrackOf(containerId: string): void {
    const record = this.#parts.state.containers.get(containerId);
    if (record?.state === "running") record.state = "unknown";
  }

  /** The runtime will not see the end of a container: stopped or not, it is listed as running until it is removed. */
  overlook(containerId: string): void {
    const record = this.#parts.state.containers.get(containerId);
    if (record !== undefined) record.overlooked = true;
  }

  /** Power is lost: no process is left, nothing has an address, and the runtime starts anew. */
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
