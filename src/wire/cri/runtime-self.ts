/** Calls about the runtime itself: Version, Status, RuntimeConfig, UpdateRuntimeConfig. */
import type { CgroupDriver } from "../../domain/runtime/runtime-info.ts";
import type { RuntimeSelf } from "../../ports/runtime.ts";
import { type Caller, call, nothing } from "./caller.ts";
import { CgroupDriver as CgroupDriverNumber, RuntimeService } from "./gen/api_pb.js";
import { Malformed, nonEmpty, required, type Words, wordOf } from "./parse.ts";

const rpc = RuntimeService.method;

/** The API version that the Go kubelet sends; runtimes answer with theirs. */
const KUBELET_API_VERSION = "0.1.0";
const DRIVERS: Words<CgroupDriver, CgroupDriverNumber> = [
  ["systemd", CgroupDriverNumber.SYSTEMD],
  ["cgroupfs", CgroupDriverNumber.CGROUPFS],
];
const CONDITIONS = ["RuntimeReady", "NetworkReady"];

export function runtimeSelf(caller: Caller): RuntimeSelf {
  return {
    version: (signal) =>
      call(caller, rpc.version, { version: KUBELET_API_VERSION }, signal, (answer) => ({
        name: nonEmpty(answer.runtimeName, "the runtime's name"),
        version: nonEmpty(answer.runtimeVersion, "the runtime's version"),
        apiVersion: nonEmpty(answer.runtimeApiVersion, "the runtime's API version"),
      })),

    status: ({ verbose }, signal) =>
      call(caller, rpc.status, { verbose }, signal, (answer) => {
        const { conditions } = required(answer.status, "the runtime's status");
        for (const type of CONDITIONS) {
          if (!conditions.some((condition) => condition.type === type))
            throw new Malformed(`condition ${type} is missing`);
        }
        return {
          conditions: conditions.map(({ type, status, reason, message }) => ({ type, status, reason, message })),
          handlers: answer.runtimeHandlers.map(({ name, features }) => ({
            name,
            recursiveReadonlyMounts: features?.recursiveReadOnlyMounts ?? false,
            userNamespaces: features?.userNamespaces ?? false,
          })),
          supplementalGroupsPolicy: answer.features?.supplementalGroupsPolicy ?? false,
          userNamespacesHostNetwork: answer.features?.userNamespacesHostNetwork ?? false,
          info: answer.info,
        };
      }),

    cgroupDriver: (signal) =>
      call(caller, rpc.runtimeConfig, {}, signal, (answer) =>
        wordOf(DRIVERS, required(answer.linux, "the Linux configuration").cgroupDriver, "the cgroup driver"),
      ),

    setPodCidr: (podCidr, signal) =>
      call(caller, rpc.updateRuntimeConfig, { runtimeConfig: { networkConfig: { podCidr } } }, signal, nothing),
  };
}
