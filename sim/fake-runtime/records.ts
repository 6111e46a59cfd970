/**
 * The runtime's records of its sandboxes and containers, and the reserved names. They survive the runtime's own death.
 */
import type { ContainerConfig, ContainerState } from "../../src/domain/runtime/container.ts";
import type { LinuxResources } from "../../src/domain/runtime/resources.ts";
import type { SandboxConfig, SandboxMetadata, SandboxState } from "../../src/domain/runtime/sandbox.ts";
import type { ContainerLog } from "./logs.ts";
import type { Process } from "./process.ts";

export interface SandboxRecord {
  readonly id: string;
  /** Includes the attempt; reserved while the sandbox exists. */
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
  /** Includes the pod and the attempt; reserved while the container exists. */
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
  /** A start is in progress: every other start fails. */
  starting: boolean;
  startedWallNs: bigint | undefined;
  /** Independent of the wall clock. */
  startedMonotonicMs: number;
  finishedWallNs: bigint | undefined;
  exitCode: number;
  reason: string;
  message: string;
  process: Process | undefined;
  log: ContainerLog | undefined;
  /** Commands that were run in the container besides its main process, and their results; for oracles and tests. */
  readonly commands: CommandRun[];
  /** The grace in seconds of each stop of the running container; 0: killed at once. */
  readonly stops: number[];
  /** Something other than the agent has started the container again. */
  revived?: true;
  /** The runtime never sees the container's exit and lists it as running until it is removed. */
  overlooked?: true;
  /** Called when the container has exited. */
  readonly waiters: Set<() => void>;
}

export const sandboxName = ({ name, namespace, uid, attempt }: SandboxMetadata) =>
  [name, namespace, uid, attempt].join("_");

export const containerName = ({ metadata }: ContainerConfig, pod: SandboxMetadata) =>
  [metadata.name, pod.name, pod.namespace, pod.uid, metadata.attempt].join("_");

/** Reserved names and their owners. A name stays reserved after an interrupted attempt, until the runtime restarts. */
export class Names {
  readonly #taken = new Map<string, string>();

  /** Reserves the name for `owner` and returns undefined, or returns the owner that already has the name. */
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
