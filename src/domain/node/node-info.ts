/** The `nodeInfo` of a node's status: the identity of the machine, and the versions of its programs. */
import type { NodeSystemInfo } from "../../api/gen/core-v1.ts";
import type { RuntimeVersion } from "../runtime/runtime-info.ts";

export interface MachineIdentity {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly swapBytes: bigint;
}

export interface AgentIdentity {
  readonly kubeletVersion: string;
  /** As Go names it: "amd64". */
  readonly architecture: string;
}

/** Values that are unknown now stay: a runtime that is briefly unavailable has not changed its version. */
export function nodeInfo(
  previous: NodeSystemInfo | undefined,
  machine: MachineIdentity | undefined,
  runtime: RuntimeVersion | undefined,
  agent: AgentIdentity,
): NodeSystemInfo {
  const swap = machine === undefined ? previous?.swap : swapOf(machine.swapBytes);
  return {
    machineID: machine?.machineId ?? previous?.machineID ?? "",
    systemUUID: machine?.systemUuid ?? previous?.systemUUID ?? "",
    bootID: machine?.bootId ?? previous?.bootID ?? "",
    kernelVersion: machine?.kernelVersion ?? previous?.kernelVersion ?? "",
    osImage: machine?.osImage ?? previous?.osImage ?? "",
    containerRuntimeVersion:
      runtime === undefined ? (previous?.containerRuntimeVersion ?? "") : runtimeVersion(runtime),
    kubeletVersion: agent.kubeletVersion,
    kubeProxyVersion: "",
    operatingSystem: "linux",
    architecture: agent.architecture,
    ...(swap === undefined ? {} : { swap }),
  };
}

const swapOf = (bytes: bigint) => (bytes === 0n ? undefined : { capacity: Number(bytes) });

/** A semantic version as it is; of any other version only the leading numbers. */
export function runtimeVersion({ name, version }: RuntimeVersion): string {
  const trimmed = version.trim().replace(/^v/, "");
  const semantic = /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[\dA-Za-z.-]+)?(\+[\dA-Za-z.-]+)?$/.test(trimmed);
  const numbers = /^(0|[1-9]\d*)(\.(0|[1-9]\d*))+/.exec(trimmed)?.[0];
  return `${name}://${semantic ? trimmed : (numbers ?? "Unknown")}`;
}

/** Whether the machine has rebooted since the Node was last written. */
export const wasRebooted = (previous: NodeSystemInfo | undefined, machine: MachineIdentity | undefined): boolean =>
  machine !== undefined && (previous?.bootID ?? "") !== "" && previous?.bootID !== machine.bootId;
