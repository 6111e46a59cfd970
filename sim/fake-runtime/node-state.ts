/** State shared by the parts of the fake runtime: records, clock, events, and the behavior of the world around it. */
import type { ContainerConfig, ContainerEvent } from "../../src/domain/runtime/container.ts";
import type { SandboxConfig } from "../../src/domain/runtime/sandbox.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Random } from "../../src/ports/random.ts";
import { RuntimeError, type RuntimeErrorCode } from "../../src/ports/runtime-error.ts";
import type { Trace } from "../trace.ts";
import type { Behaviour } from "./behaviour.ts";
import { EventHub } from "./events.ts";
import type { LogSink } from "./logs.ts";
import { type ContainerRecord, Names, type SandboxRecord } from "./records.ts";

/** How long the runtime's own operations take. */
export interface RuntimeDurations {
  readonly runSandboxMs: number;
  readonly createContainerMs: number;
  readonly startContainerMs: number;
}

/** Notified of processes, to maintain cgroups and the like. */
export interface ProcessWatcher {
  started(pid: number, cgroupParent: string, id: string): void;
  ended(pid: number): void;
  removed(cgroupParent: string, id: string): void;
}

export interface FakeRuntimeOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly trace: Trace;
  /** Names the node in the trace. */
  readonly name: string;
  readonly logs?: LogSink;
  readonly durations?: Partial<RuntimeDurations>;
  readonly processes?: ProcessWatcher;
  /** The behavior of a command that is not a script. */
  readonly behaviourOf?: (
    argv: readonly string[],
    container: ContainerConfig,
    sandbox: SandboxConfig,
  ) => Behaviour | undefined;
}

export class NodeState {
  readonly options: FakeRuntimeOptions;
  readonly sandboxes = new Map<string, SandboxRecord>();
  readonly containers = new Map<string, ContainerRecord>();
  readonly sandboxNames = new Names();
  readonly containerNames = new Names();
  readonly events = new EventHub();
  /** Addresses of pods. */
  readonly ips = new Set<string>();
  /** For the world: makes the pod network fail or be absent. */
  network: { readonly ready: boolean; readonly addError?: string } = { ready: true };
  /** Whether the handlers support user namespaces. */
  userNamespaces = true;
  durations: RuntimeDurations;
  isDead = false;
  /** Number of times the runtime died. Work in progress at a death is not continued. */
  deaths = 0;
  #pid = 1000;
  #lastMs = 0;
  #withinMs = 0n;
  #nextAddress = 0;

  constructor(options: FakeRuntimeOptions) {
    this.options = options;
    this.durations = { runSandboxMs: 0, createContainerMs: 0, startContainerMs: 0, ...options.durations };
  }

  newId(): string {
    const { random } = this.options;
    return (random.uuid() + random.uuid()).replaceAll("-", "");
  }

  newPid(): number {
    this.#pid += 1;
    return this.#pid;
  }

  /** Wall-clock time, different at each reading. */
  wallNs(): bigint {
    const wallMs = Math.trunc(this.options.clock.wallMs());
    this.#withinMs = wallMs === this.#lastMs ? this.#withinMs + 1n : 0n;
    this.#lastMs = wallMs;
    return BigInt(wallMs) * 1_000_000n + this.#withinMs;
  }

  takeAddress(): string {
    for (;;) {
      this.#nextAddress = (this.#nextAddress % 65_000) + 1;
      const ip = `198.18.${this.#nextAddress >> 8}.${this.#nextAddress & 255}`;
      if (this.ips.has(ip)) continue;
      this.ips.add(ip);
      return ip;
    }
  }

  tell(kind: ContainerEvent["kind"], containerId: string, sandbox: SandboxRecord | undefined): void {
    this.say(`${kind} ${containerId}`);
    const whose = sandbox === undefined ? {} : { sandboxId: sandbox.id, podUid: sandbox.config.metadata.uid };
    this.events.tell({ containerId, kind, wallNs: this.wallNs(), ...whose });
  }

  say(what: string): void {
    const { clock, trace, name } = this.options;
    trace.record(`${clock.monotonicMs()} ${name} ${what}`);
  }
}

export const refuse = (operation: string, code: RuntimeErrorCode, detail: string) =>
  new RuntimeError(operation, code, detail);
