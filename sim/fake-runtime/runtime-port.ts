/**
 * The Runtime and Images ports of the fake runtime. Each verb validates its arguments as the real client does, then
 * calls the parts.
 */
import type { LinuxResources } from "../../src/domain/runtime/resources.ts";
import type { RuntimeStatus } from "../../src/domain/runtime/runtime-info.ts";
import type { Images } from "../../src/ports/images.ts";
import type {
  Runtime,
  RuntimeContainers,
  RuntimeSandboxes,
  RuntimeSelf,
  RuntimeStats,
  RuntimeStreams,
} from "../../src/ports/runtime.ts";
import { NO_LIMIT, type RuntimeCaller } from "./caller.ts";
import { statusOf } from "./containers.ts";
import { type NodeState, refuse } from "./node-state.ts";
import { HANDLERS } from "./sandboxes.ts";
import { isSignalName } from "./signals.ts";

export const runtimePort = (caller: RuntimeCaller): Runtime => ({
  ...selfPort(caller),
  ...sandboxPort(caller),
  ...containerPort(caller),
  ...streamPort(caller),
  ...statsPort(caller),
});

function selfPort(caller: RuntimeCaller): RuntimeSelf {
  const { state } = caller.parts;
  return {
    version: (signal) =>
      caller.call("Version", "", signal, () => ({ name: "simulated", version: "v2.0.0", apiVersion: "v1" })),
    status: ({ verbose }, signal) => caller.call("Status", "", signal, () => runtimeStatus(state, verbose)),
    cgroupDriver: (signal) => caller.call("RuntimeConfig", "", signal, () => "cgroupfs" as const),
    setPodCidr: (podCidr, signal) =>
      caller.call("UpdateRuntimeConfig", podCidr, signal, () => {
        if (!/^[0-9a-f.:]+\/\d+(,[0-9a-f.:]+\/\d+)?$/.test(podCidr))
          throw refuse("UpdateRuntimeConfig", "unknown", `invalid CIDR address: ${podCidr}`);
      }),
  };
}

function runtimeStatus({ network, userNamespaces }: NodeState, verbose: boolean): RuntimeStatus {
  const unready = { reason: "NetworkPluginNotReady", message: "cni plugin not initialized" };
  return {
    conditions: [
      { type: "RuntimeReady", status: true, reason: "", message: "" },
      { type: "NetworkReady", status: network.ready, ...(network.ready ? { reason: "", message: "" } : unready) },
    ],
    handlers: HANDLERS.map((name) => ({ name, recursiveReadonlyMounts: true, userNamespaces })),
    supplementalGroupsPolicy: true,
    userNamespacesHostNetwork: false,
    info: verbose ? { config: "{}" } : {},
  };
}

function sandboxPort(caller: RuntimeCaller): RuntimeSandboxes {
  const { sandboxes, state } = caller.parts;
  return {
    runSandbox: (config, runtimeHandler, signal) => {
      const { name, namespace, attempt, uid } = config.metadata;
      const target = { target: `${namespace}/${name}/${attempt}`, podUid: uid };
      return caller.call("RunPodSandbox", target, signal, (s) => sandboxes.run(config, runtimeHandler, s));
    },
    stopSandbox: (id, signal) =>
      caller.call("StopPodSandbox", id, signal, (s) => {
        const record = state.sandboxes.get(id);
        return record && sandboxes.stop(record, s);
      }),
    removeSandbox: (id, signal) =>
      caller.call("RemovePodSandbox", id, signal, (s) => {
        const record = state.sandboxes.get(id);
        return record && sandboxes.remove(record, s);
      }),
    sandboxStatus: (id, { verbose }, signal) =>
      caller.call("PodSandboxStatus", id, signal, () => sandboxes.view(id, verbose)),
    listSandboxes: (filter, signal) => caller.call("ListPodSandbox", "", signal, () => sandboxes.list(filter)),
    updateSandboxResources: async (id, { overhead, resources }, signal) => {
      for (const each of [overhead, resources]) checkWhole("UpdatePodSandboxResources", each ?? {});
      return caller.call("UpdatePodSandboxResources", id, signal, () => {
        sandboxes.get("UpdatePodSandboxResources", id);
      });
    },
  };
}

function containerPort(caller: RuntimeCaller): RuntimeContainers {
  const { containers, state } = caller.parts;
  return {
    createContainer: async (sandboxId, config, sandboxConfig, signal) => {
      const { stopSignal, metadata } = config;
      if (stopSignal !== undefined && !isSignalName(stopSignal))
        throw refuse("CreateContainer", "invalidArgument", `unknown stop signal ${stopSignal}`);
      const { namespace, name, uid } = sandboxConfig.metadata;
      const target = { target: `${namespace}/${name}/${metadata.name}/${metadata.attempt}`, podUid: uid };
      return caller.call("CreateContainer", target, signal, (s) => containers.create(sandboxId, config, s));
    },
    startContainer: (id, signal) => caller.call("StartContainer", id, signal, () => containers.start(id)),
    stopContainer: (id, graceSeconds, signal) => {
      const limitMs = graceSeconds * 1000 + caller.requestLimitMs;
      const stop = (s: AbortSignal) => {
        const record = state.containers.get(id);
        return record && containers.stop(record, graceSeconds, s);
      };
      return caller.call("StopContainer", `${id} ${graceSeconds}`, signal, stop, limitMs);
    },
    removeContainer: (id, signal) =>
      caller.call("RemoveContainer", id, signal, (s) => {
        const record = state.containers.get(id);
        return record && containers.remove(record, s);
      }),
    containerStatus: (id, { verbose }, signal) =>
      caller.call("ContainerStatus", id, signal, () => {
        const record = containers.get("ContainerStatus", id);
        return {
          status: statusOf(record),
          info: verbose ? { info: JSON.stringify({ pid: record.process?.pid ?? 0 }) } : {},
        };
      }),
    listContainers: (filter, signal) => caller.call("ListContainers", "", signal, () => containers.list(filter)),
    updateContainerResources: async (id, resources, annotations, signal) => {
      checkWhole("UpdateContainerResources", resources);
      return caller.call("UpdateContainerResources", id, signal, () =>
        containers.updateResources(id, resources, annotations),
      );
    },
    reopenLog: (id, signal) => caller.call("ReopenContainerLog", id, signal, () => containers.reopenLog(id)),
    checkpoint: (id, _location, timeoutSeconds, signal) => {
      const limitMs = timeoutSeconds * 1000 + caller.requestLimitMs;
      const checkpoint = () => {
        containers.get("CheckpointContainer", id);
        throw refuse("CheckpointContainer", "unknown", "criu is not installed");
      };
      return caller.call("CheckpointContainer", id, signal, checkpoint, limitMs);
    },
    events: (signal) => caller.events(signal),
  };
}

function streamPort(caller: RuntimeCaller): RuntimeStreams {
  const { commands, sandboxes } = caller.parts;
  return {
    execSync: (id, command, timeoutSeconds, signal) => {
      const limitMs = timeoutSeconds === 0 ? NO_LIMIT : timeoutSeconds * 1000 + caller.requestLimitMs;
      const run = (s: AbortSignal) => commands.execSync(id, command, timeoutSeconds, s);
      return caller.call("ExecSync", id, signal, run, limitMs);
    },
    exec: (id, _command, _options, signal) => caller.call("Exec", id, signal, () => commands.url("Exec", id)),
    attach: (id, _options, signal) => caller.call("Attach", id, signal, () => commands.url("Attach", id)),
    portForward: (sandboxId, _ports, signal) =>
      caller.call("PortForward", sandboxId, signal, () => {
        sandboxes.get("PortForward", sandboxId);
        return commands.streamUrl("PortForward");
      }),
  };
}

function statsPort(caller: RuntimeCaller): RuntimeStats {
  const { stats } = caller.parts;
  return {
    containerStats: (id, signal) => caller.call("ContainerStats", id, signal, () => stats.container(id)),
    listContainerStats: (filter, signal) =>
      caller.call("ListContainerStats", "", signal, () => stats.listContainers(filter)),
    sandboxStats: (id, signal) => caller.call("PodSandboxStats", id, signal, () => stats.sandbox(id)),
    listSandboxStats: (filter, signal) =>
      caller.call("ListPodSandboxStats", "", signal, () => stats.listSandboxes(filter)),
    metricDescriptors: (signal) => caller.call("ListMetricDescriptors", "", signal, () => stats.descriptors()),
    listSandboxMetrics: (signal) => caller.call("ListPodSandboxMetrics", "", signal, () => stats.metrics()),
  };
}

export function imagesPort(caller: RuntimeCaller): Images {
  const { images } = caller.parts;
  return {
    listImages: (_filter, signal) => caller.call("ListImages", "", signal, () => images.list()),
    imageStatus: ({ image }, signal) => caller.call("ImageStatus", image, signal, () => images.find(image)),
    pullImage: (image, { credentials }, signal) =>
      caller.call("PullImage", image.image, signal, (s) => images.pull(image, credentials, s), NO_LIMIT),
    removeImage: ({ image }, signal) => caller.call("RemoveImage", image, signal, () => images.remove(image)),
    imageFilesystems: (signal) => caller.call("ImageFsInfo", "", signal, () => images.filesystems()),
  };
}

/** The wire format has only integers. */
function checkWhole(operation: string, resources: LinuxResources): void {
  const { cpuPeriodUs, cpuQuotaUs, cpuShares, oomScoreAdj } = resources;
  for (const [what, value] of Object.entries({ cpuPeriodUs, cpuQuotaUs, cpuShares, oomScoreAdj })) {
    if (value !== undefined && !Number.isSafeInteger(value))
      throw refuse(operation, "invalidArgument", `${what} is not a whole number: ${value}`);
  }
}
