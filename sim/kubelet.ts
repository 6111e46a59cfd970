/** Runs the unchanged kubelet as the agent of a simulated node. */
import assert from "node:assert/strict";
import { compose, type Kubelet } from "../src/app/compose.ts";
import type { MakePodAllocator } from "../src/app/compose-admission.ts";
import type { CompiledOptions } from "../src/app/options/compiled-options.ts";
import { loadOptions } from "../src/app/options/load-options.ts";
import type { AgentFactory } from "./sim-node.ts";

export const MANIFESTS = "/etc/kubernetes/manifests";

/** The options of a kubelet that an operator starts with these flags and the defaults of the command line. */
export function kubeletOptions(nodeName: string, ...flags: readonly string[]): CompiledOptions {
  const args = [
    `--hostname-override=${nodeName}`,
    "--kubeconfig=/etc/kubernetes/kubelet.conf",
    `--pod-manifest-path=${MANIFESTS}`,
    "--resolv-conf=",
    ...flags,
  ];
  const loaded = loadOptions(args, {
    hostname: nodeName,
    cgroupVersion: 2,
    uid: 0,
    workingDirectory: "/",
    homeDirectory: "/root",
  });
  if (loaded.kind !== "options") throw new Error(`no options but ${loaded.kind}`);
  return loaded.options;
}

export const kubeletWith =
  (...flags: readonly string[]): AgentFactory =>
  (ports, node) =>
    compose(ports, kubeletOptions(node.name, ...flags));

export const kubelet: AgentFactory = kubeletWith();

/** A kubelet agent whose newest instance a test can inspect. */
export function keptKubelet(...flags: readonly string[]) {
  let newest: Kubelet | undefined;
  const agent: AgentFactory = (ports, node) => {
    newest = compose(ports, kubeletOptions(node.name, ...flags));
    return newest;
  };
  return { agent, newest: () => newest ?? assert.fail("no kubelet was started") };
}

/** A kubelet agent with allocators that production does not have. */
export const allocatingKubelet =
  (allocators: readonly MakePodAllocator[]): AgentFactory =>
  (ports, node) =>
    compose(ports, kubeletOptions(node.name), allocators);
