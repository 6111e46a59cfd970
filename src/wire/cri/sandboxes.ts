/** Sandboxes: run, stop, remove, inspect, list, resize. */
import type { SandboxFilter } from "../../domain/runtime/sandbox.ts";
import type { RuntimeSandboxes } from "../../ports/runtime.ts";
import { type Caller, call, list, nothing, unlessGone, withLimit } from "./caller.ts";
import { RuntimeService } from "./gen/api_pb.js";
import { nonEmpty, numberOf, required, wallNsOrAbsent } from "./parse.ts";
import { fromContainerStatus } from "./translate-container.ts";
import { toResources } from "./translate-resources.ts";
import { fromSandbox, fromSandboxStatus, SANDBOX_STATES, toSandboxConfig } from "./translate-sandbox.ts";

const rpc = RuntimeService.method;

export function runtimeSandboxes(caller: Caller): RuntimeSandboxes {
  return {
    runSandbox: async (config, runtimeHandler, signal) => {
      const request = { config: toSandboxConfig(config, "RunPodSandbox"), runtimeHandler };
      const read = (answer: { readonly podSandboxId: string }) => nonEmpty(answer.podSandboxId, "the new sandbox's id");
      // This call may pull an image and sets up a network, so its deadline is twice as long.
      return call(withLimit(caller, 2 * caller.requestLimitMs), rpc.runPodSandbox, request, signal, read);
    },

    stopSandbox: (id, signal) => unlessGone(call(caller, rpc.stopPodSandbox, { podSandboxId: id }, signal, nothing)),

    removeSandbox: (id, signal) =>
      unlessGone(call(caller, rpc.removePodSandbox, { podSandboxId: id }, signal, nothing)),

    sandboxStatus: (id, { verbose }, signal) =>
      call(caller, rpc.podSandboxStatus, { podSandboxId: id, verbose }, signal, (answer) => {
        const readWallNs = wallNsOrAbsent(answer.timestamp);
        return {
          status: fromSandboxStatus(required(answer.status, `status of sandbox ${id}`)),
          info: answer.info,
          // Without this time the age of the containers is unknown. Older runtimes leave both empty.
          ...(readWallNs !== undefined && {
            containers: answer.containersStatuses.map(fromContainerStatus),
            readWallNs,
          }),
        };
      }),

    listSandboxes: (filter, signal) => {
      const request = { filter: toFilter(filter) };
      return list(
        caller,
        {
          unary: rpc.listPodSandbox,
          unaryRequest: request,
          unaryItems: (answer) => answer.items,
          stream: rpc.streamPodSandboxes,
          streamRequest: request,
          streamItems: (part) => part.podSandboxes,
          translate: fromSandbox,
          idOf: ({ id }) => id,
        },
        signal,
      );
    },

    updateSandboxResources: async (id, { overhead, resources }, signal) => {
      const operation = rpc.updatePodSandboxResources.name;
      const request = {
        podSandboxId: id,
        ...(overhead && { overhead: toResources(overhead, operation) }),
        ...(resources && { resources: toResources(resources, operation) }),
      };
      return call(caller, rpc.updatePodSandboxResources, request, signal, nothing);
    },
  };
}

const toFilter = ({ id, state, labels }: SandboxFilter) => ({
  id: id ?? "",
  labelSelector: { ...labels },
  ...(state !== undefined && { state: { state: numberOf(SANDBOX_STATES, state) } }),
});
