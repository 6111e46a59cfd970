/** Wraps the runtime and image ports and counts and times every call under the Go kubelet's operation name. */
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import type { RuntimeMetrics } from "../../domain/metrics/runtime-metrics.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import type { Runtime } from "../../ports/runtime.ts";

/** Undefined: not counted, because the operation continues after the call returns. */
const RUNTIME_OPERATIONS: Readonly<Record<keyof Runtime, string | undefined>> = {
  version: "version",
  status: "status",
  cgroupDriver: "runtime_config",
  setPodCidr: "update_runtime_config",
  runSandbox: "run_podsandbox",
  stopSandbox: "stop_podsandbox",
  removeSandbox: "remove_podsandbox",
  sandboxStatus: "podsandbox_status",
  listSandboxes: "list_podsandbox",
  updateSandboxResources: "update_podsandbox_resources",
  createContainer: "create_container",
  startContainer: "start_container",
  stopContainer: "stop_container",
  removeContainer: "remove_container",
  containerStatus: "container_status",
  listContainers: "list_containers",
  updateContainerResources: "update_container",
  reopenLog: "reopen_container_log",
  checkpoint: "checkpoint_container",
  events: undefined,
  execSync: "exec_sync",
  exec: "exec",
  attach: "attach",
  portForward: "port_forward",
  containerStats: "container_stats",
  listContainerStats: "list_container_stats",
  sandboxStats: "podsandbox_stats",
  listSandboxStats: "list_podsandbox_stats",
  metricDescriptors: "list_metric_descriptors",
  listSandboxMetrics: "list_podsandbox_metrics",
};

const IMAGE_OPERATIONS: Readonly<Record<keyof Images, string>> = {
  listImages: "list_images",
  imageStatus: "image_status",
  pullImage: "pull_image",
  removeImage: "remove_image",
  imageFilesystems: "image_fs_info",
};

export interface InstrumentedRuntimeParts {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly runtimeMetrics: RuntimeMetrics;
  readonly podMetrics: Pick<PodMetrics, "startedPods" | "startedPodErrors">;
}

export function instrumentedRuntime(runtime: Runtime, parts: InstrumentedRuntimeParts): Runtime {
  const instrumented = instrumentedCalls(runtime, RUNTIME_OPERATIONS, parts);
  const { clock, runtimeMetrics, podMetrics } = parts;
  return {
    ...instrumented,
    async runSandbox(config, handler, signal) {
      const sinceMs = clock.monotonicMs();
      podMetrics.startedPods.increment();
      try {
        return await instrumented.runSandbox(config, handler, signal);
      } catch (error) {
        runtimeMetrics.sandboxErrors.increment(handler);
        podMetrics.startedPodErrors.increment();
        throw error;
      } finally {
        runtimeMetrics.sandboxDurations.observe((clock.monotonicMs() - sinceMs) / 1000, handler);
      }
    },
  };
}

export const instrumentedImages = (images: Images, parts: InstrumentedRuntimeParts): Images =>
  instrumentedCalls(images, IMAGE_OPERATIONS, parts);

type Call = (...args: readonly unknown[]) => Promise<unknown>;

/** Returns the same port with every call named in the table counted and timed. */
function instrumentedCalls<Port extends object>(
  port: Port,
  operations: Readonly<Record<keyof Port & string, string | undefined>>,
  { clock, runtimeMetrics }: InstrumentedRuntimeParts,
): Port {
  const { operations: all, errors, durations } = runtimeMetrics;
  const calls = Object.entries<string | undefined>(operations).map(([name, operation]) => {
    const call = (port[name as keyof Port] as Call).bind(port);
    if (operation === undefined) return [name, call] as const;
    const instrumentedCall: Call = async (...args) => {
      const sinceMs = clock.monotonicMs();
      all.increment(operation);
      try {
        return await call(...args);
      } catch (error) {
        errors.increment(operation);
        throw error;
      } finally {
        durations.observe((clock.monotonicMs() - sinceMs) / 1000, operation);
      }
    };
    return [name, instrumentedCall] as const;
  });
  return Object.fromEntries(calls) as Port;
}
