/**
 * The container runtime.
 *
 * Every call takes the caller's signal and has its own deadline. It rejects with a `RuntimeError`, or with the signal's
 * reason when the caller gives up. A rejected call may have taken effect. Stopping or removing something that is
 * already stopped or gone succeeds. The runtime assigns IDs; we assign names with their attempt, and a name stays taken
 * while anything holds it.
 */
import type {
  Container,
  ContainerConfig,
  ContainerEvent,
  ContainerFilter,
  ContainerStatus,
} from "../domain/runtime/container.ts";
import type { LinuxResources } from "../domain/runtime/resources.ts";
import type { CgroupDriver, RuntimeStatus, RuntimeVersion } from "../domain/runtime/runtime-info.ts";
import type { Sandbox, SandboxConfig, SandboxFilter, SandboxView } from "../domain/runtime/sandbox.ts";
import type {
  ContainerStats,
  ContainerStatsFilter,
  MetricDescriptor,
  SandboxMetrics,
  SandboxStats,
  StatsFilter,
} from "../domain/runtime/stats.ts";

export interface ExecResult {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number;
}

export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Calls about the runtime itself. */
export interface RuntimeSelf {
  version(signal: AbortSignal): Promise<RuntimeVersion>;
  status(options: { readonly verbose: boolean }, signal: AbortSignal): Promise<RuntimeStatus>;
  /** "unimplemented" if the runtime leaves the choice to the node. */
  cgroupDriver(signal: AbortSignal): Promise<CgroupDriver>;
  setPodCidr(podCidr: string, signal: AbortSignal): Promise<void>;
}

export interface RuntimeSandboxes {
  runSandbox(config: SandboxConfig, runtimeHandler: string, signal: AbortSignal): Promise<string>;
  stopSandbox(id: string, signal: AbortSignal): Promise<void>;
  removeSandbox(id: string, signal: AbortSignal): Promise<void>;
  sandboxStatus(id: string, options: { readonly verbose: boolean }, signal: AbortSignal): Promise<SandboxView>;
  listSandboxes(filter: SandboxFilter, signal: AbortSignal): Promise<readonly Sandbox[]>;
  updateSandboxResources(
    id: string,
    resources: { readonly overhead?: LinuxResources; readonly resources?: LinuxResources },
    signal: AbortSignal,
  ): Promise<void>;
}

export interface RuntimeContainers {
  createContainer(
    sandboxId: string,
    config: ContainerConfig,
    sandboxConfig: SandboxConfig,
    signal: AbortSignal,
  ): Promise<string>;
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Asks the container to stop and kills it after `graceSeconds`; resolves when it has stopped. */
  stopContainer(id: string, graceSeconds: number, signal: AbortSignal): Promise<void>;
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  containerStatus(
    id: string,
    options: { readonly verbose: boolean },
    signal: AbortSignal,
  ): Promise<{ readonly status: ContainerStatus; readonly info: Readonly<Record<string, string>> }>;
  listContainers(filter: ContainerFilter, signal: AbortSignal): Promise<readonly Container[]>;
  updateContainerResources(
    id: string,
    resources: LinuxResources,
    annotations: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void>;
  reopenLog(id: string, signal: AbortSignal): Promise<void>;
  checkpoint(id: string, location: string, timeoutSeconds: number, signal: AbortSignal): Promise<void>;
  /**
   * Hints about containers from now on. Ends when the runtime closes the stream and rejects when the stream breaks; the
   * reader then lists and follows again. "unimplemented" if the runtime has no events.
   */
  events(signal: AbortSignal): AsyncIterable<ContainerEvent>;
}

export interface RuntimeStreams {
  /** Runs a command to its end. A command that exceeds `timeoutSeconds` (0: no limit) is killed: "deadlineExceeded". */
  execSync(id: string, command: readonly string[], timeoutSeconds: number, signal: AbortSignal): Promise<ExecResult>;
  /** These calls return the URL of the runtime's streaming server. */
  exec(id: string, command: readonly string[], options: StreamOptions, signal: AbortSignal): Promise<string>;
  attach(id: string, options: StreamOptions, signal: AbortSignal): Promise<string>;
  portForward(sandboxId: string, ports: readonly number[], signal: AbortSignal): Promise<string>;
}

export interface RuntimeStats {
  containerStats(id: string, signal: AbortSignal): Promise<ContainerStats>;
  listContainerStats(filter: ContainerStatsFilter, signal: AbortSignal): Promise<readonly ContainerStats[]>;
  sandboxStats(id: string, signal: AbortSignal): Promise<SandboxStats>;
  listSandboxStats(filter: StatsFilter, signal: AbortSignal): Promise<readonly SandboxStats[]>;
  metricDescriptors(signal: AbortSignal): Promise<readonly MetricDescriptor[]>;
  listSandboxMetrics(signal: AbortSignal): Promise<readonly SandboxMetrics[]>;
}

export interface Runtime extends RuntimeSelf, RuntimeSandboxes, RuntimeContainers, RuntimeStreams, RuntimeStats {}
