/** What the runtime knows of its sandboxes and containers, and the names that are taken. It outlives the runtime's own death. */
import type { ContainerConfig, ContainerState } from "../../src/domain/runtime/container.ts";
import type { LinuxResources } from "../../src/domain/runtime/resources.ts";
import type { SandboxConfig, SandboxMetadata, SandboxState } from "../../src/domain/runtime/sandbox.ts";
import type { ContainerLog } from "./logs.ts";
import type { Process } from "./process.ts";

export interface SandboxRecord {
  readonly id: string;
  /** With its attempt: taken while the sandbox is there. */
  readonly name: string;
  readonly config: SandboxConfig;
  readonly runtimeHandler: string;
  readonly createdWallNs: bigint;
  state: SandboxState;
  ips: readonly string[];
  process: Process | undefined;
}

export interface CommandRun {
  readonly argv: readonly string[];
  readonly begunWallNs: bigint;
  ended?: { readonly wallNs: bigint; readonly exitCode: number };
}

export interface ContainerRecord {
  readonly id: string;
  /** With pod and attempt: taken while the container is there. */
  readonly name: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly createdWallNs: bigint;
  readonly imageId: string;
  readonly imageRef: string;
  readonly logPath: string;
  readonly environment: ReadonlyMap<string, Uint8Array>;
  state: ContainerState;
  resources: LinuxResources | undefined;
  annotations: Readonly<Record<string, string>>;
  /** A start is under way: nobody else may start it. */
  starting: boolean;
  startedWallNs: bigint | undefined;
  /** Whatever becomes of the calendar. */
  startedMonotonicMs: number;
  finishedWallNs: bigint | undefined;
  exitCode: number;
  reason: string;
  message: string;
  process: Process | undefined;
  log: ContainerLog | undefined;
  /** What was run in it beside its own process, and how that ended; for those who look at the world from outside. */
  readonly commands: CommandRun[];
  /** How long it was given, each time it was asked to end while it ran; 0: killed at once. */
  readonly stops: number[];
  /** Somebody who is not the agent has started it again. */
  revived?: true;
  /** The runtime will never see its end, and says that it runs until it is removed. */
  overlooked?: true;
  /** Told when it has ended. */
  readonly waiters: Set<() => void>;
}

export const sandboxName = ({ name, namespace, uid, attempt }: SandboxMetadata) =>
  [name, namespace, uid, attempt].join("_");

export const containerName = ({ metadata }: ContainerConfig, pod: SandboxMetadata) =>
  [metadata.name, pod.name, pod.namespace, pod.uid, metadata.attempt].join("_");

/** Names by who has them. A name stays taken after an attempt that was cut short, until the runtime starts anew. */
export class Names {
  readonly #taken = new Map<string, string>();

  /** Who has it, or undefined when it is now `owner`'s. */
  take(name: string, owner: string): string | undefined {
    const other = this.#taken.get(name);
    if (other === undefined) this.#taken.set(name, owner);
    return other;
  }

  release(name: string): void {
    this.#taken.delete(name);
  }

  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.#taken.keys()) if (!names.has(name)) this.#taken.delete(name);
  }
}

export const labelsFit = (
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>> | undefined,
): boolean => Object.entries(wanted ?? {}).every(([key, value]) => labels[key] === value);
