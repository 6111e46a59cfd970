/** Stats of containers and sandboxes, and the runtime's own metrics about them. */
import type { RuntimeStats } from "../../ports/runtime.ts";
import { type Caller, call, list } from "./caller.ts";
import { RuntimeService } from "./gen/api_pb.js";
import { nonEmpty, required } from "./parse.ts";
import { fromContainerStats, fromSandboxMetrics, fromSandboxStats } from "./translate-stats.ts";

const rpc = RuntimeService.method;

export function runtimeStats(caller: Caller): RuntimeStats {
  return {
    containerStats: (id, signal) =>
      call(caller, rpc.containerStats, { containerId: id }, signal, (answer) =>
        fromContainerStats(required(answer.stats, `stats of container ${id}`)),
      ),
    listContainerStats: (filter, signal) => listContainerStats(caller, filter, signal),
    sandboxStats: (id, signal) =>
      call(caller, rpc.podSandboxStats, { podSandboxId: id }, signal, (answer) =>
        fromSandboxStats(required(answer.stats, `stats of sandbox ${id}`)),
      ),
    listSandboxStats: (filter, signal) => listSandboxStats(caller, filter, signal),
    metricDescriptors: (signal) =>
      call(caller, rpc.listMetricDescriptors, {}, signal, (answer) =>
        answer.descriptors.map(({ name, help, labelKeys }) => ({
          name: nonEmpty(name, "a metric's name"),
          help,
          labelKeys,
        })),
      ),
    listSandboxMetrics: (signal) => listSandboxMetrics(caller, signal),
  };
}

function listContainerStats(
  caller: Caller,
  { id, sandboxId, labels }: Parameters<RuntimeStats["listContainerStats"]>[0],
  signal: AbortSignal,
) {
  const request = { filter: { id: id ?? "", podSandboxId: sandboxId ?? "", labelSelector: { ...labels } } };
  return list(
    caller,
    {
      unary: rpc.listContainerStats,
      unaryRequest: request,
      unaryItems: (answer) => answer.stats,
      stream: rpc.streamContainerStats,
      streamRequest: request,
      streamItems: (part) => part.containerStats,
      translate: fromContainerStats,
      idOf: (stats) => stats.id,
    },
    signal,
  );
}

function listSandboxStats(
  caller: Caller,
  { id, labels }: Parameters<RuntimeStats["listSandboxStats"]>[0],
  signal: AbortSignal,
) {
  const request = { filter: { id: id ?? "", labelSelector: { ...labels } } };
  return list(
    caller,
    {
      unary: rpc.listPodSandboxStats,
      unaryRequest: request,
      unaryItems: (answer) => answer.stats,
      stream: rpc.streamPodSandboxStats,
      streamRequest: request,
      streamItems: (part) => part.podSandboxStats,
      translate: fromSandboxStats,
      idOf: (stats) => stats.id,
    },
    signal,
  );
}

function listSandboxMetrics(caller: Caller, signal: AbortSignal) {
  return list(
    caller,
    {
      unary: rpc.listPodSandboxMetrics,
      unaryRequest: {},
      unaryItems: (answer) => answer.podMetrics,
      stream: rpc.streamPodSandboxMetrics,
      streamRequest: {},
      streamItems: (part) => part.podSandboxMetrics,
      translate: fromSandboxMetrics,
      idOf: ({ sandboxId }) => sandboxId,
    },
    signal,
  );
}
