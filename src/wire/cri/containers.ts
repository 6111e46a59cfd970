/** Containers: create, start, stop, remove, inspect, list, resize, reopen the log, checkpoint. */
import type { ContainerFilter } from "../../domain/runtime/container.ts";
import type { RuntimeContainers } from "../../ports/runtime.ts";
import { type Caller, call, list, nothing, unlessGone, withLimit } from "./caller.ts";
import { RuntimeService } from "./gen/api_pb.js";
import { nonEmpty, numberOf, required } from "./parse.ts";
import { CONTAINER_STATES, fromContainer, fromContainerStatus, toContainerConfig } from "./translate-container.ts";
import { toInt64, toResources } from "./translate-resources.ts";
import { toSandboxConfig } from "./translate-sandbox.ts";

const rpc = RuntimeService.method;

export function runtimeContainers(caller: Caller): Omit<RuntimeContainers, "events"> {
  return {
    createContainer: async (sandboxId, config, sandboxConfig, signal) => {
      const request = {
        podSandboxId: sandboxId,
        config: toContainerConfig(config),
        sandboxConfig: toSandboxConfig(sandboxConfig, "CreateContainer"),
      };
      return call(caller, rpc.createContainer, request, signal, (answer) =>
        nonEmpty(answer.containerId, "the new container's id"),
      );
    },

    startContainer: (id, signal) => call(caller, rpc.startContainer, { containerId: id }, signal, nothing),

    stopContainer: async (id, graceSeconds, signal) => {
      const request = { containerId: id, timeout: toInt64(graceSeconds, "the grace period", "StopContainer") };
      const limitMs = graceSeconds * 1000 + caller.requestLimitMs;
      return unlessGone(call(withLimit(caller, limitMs), rpc.stopContainer, request, signal, nothing));
    },

    removeContainer: (id, signal) =>
      unlessGone(call(caller, rpc.removeContainer, { containerId: id }, signal, nothing)),

    containerStatus: (id, { verbose }, signal) =>
      call(caller, rpc.containerStatus, { containerId: id, verbose }, signal, (answer) => ({
        status: fromContainerStatus(required(answer.status, `status of container ${id}`)),
        info: answer.info,
      })),

    listContainers: (filter, signal) => {
      const request = { filter: toFilter(filter) };
      return list(
        caller,
        {
          unary: rpc.listContainers,
          unaryRequest: request,
          unaryItems: (answer) => answer.containers,
          stream: rpc.streamContainers,
          streamRequest: request,
          streamItems: (part) => part.containers,
          translate: fromContainer,
          idOf: ({ id }) => id,
        },
        signal,
      );
    },

    updateContainerResources: async (id, resources, annotations, signal) => {
      const linux = toResources(resources, "UpdateContainerResources");
      const request = { containerId: id, linux, annotations: { ...annotations } };
      return call(caller, rpc.updateContainerResources, request, signal, nothing);
    },

    reopenLog: (id, signal) => call(caller, rpc.reopenContainerLog, { containerId: id }, signal, nothing),

    checkpoint: async (id, location, timeoutSeconds, signal) => {
      const timeout = toInt64(timeoutSeconds, "the timeout", "CheckpointContainer");
      const limitMs = timeoutSeconds * 1000 + caller.requestLimitMs;
      const request = { containerId: id, location, timeout };
      return call(withLimit(caller, limitMs), rpc.checkpointContainer, request, signal, nothing);
    },
  };
}

const toFilter = ({ id, state, sandboxId, labels }: ContainerFilter) => ({
  id: id ?? "",
  podSandboxId: sandboxId ?? "",
  labelSelector: { ...labels },
  ...(state !== undefined && { state: { state: numberOf(CONTAINER_STATES, state) } }),
});
