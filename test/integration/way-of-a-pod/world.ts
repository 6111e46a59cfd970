/** Shared by the parts of this suite: one cluster with one Deckhand node, whose calls to the runtime are recorded. */
import type { Pod, PodSpec } from "../../../src/api/gen/core-v1.ts";
import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import type { CriCall, CriProxy } from "../../cluster/cri-proxy.ts";
import { type ClusterPods, podOn } from "../../support/cluster-pods.ts";
import { runsOf } from "../../support/cri-log.ts";

export interface World {
  readonly cluster: Cluster;
  readonly pods: ClusterPods;
  readonly node: ClusterNode;
  readonly proxy: CriProxy;
}

export const uidOf = (pod: Pod): string => pod.metadata?.uid ?? "";

export const makePod = ({ pods, node }: World, name: string, spec: Partial<PodSpec>): Promise<Pod> =>
  pods.create(podOn(node.name, name, spec));

export async function runPod(world: World, name: string, spec: Partial<PodSpec>): Promise<Pod> {
  await makePod(world, name, spec);
  return world.pods.running(name);
}

/** Calls about the pod's containers and sandboxes, by the ids that the runtime gave them. */
export function callsAbout({ proxy }: World, pod: Pod, method: string): readonly CriCall[] {
  const ids = new Set(runsOf(proxy.calls, uidOf(pod)).map(({ id }) => id));
  for (const { method: made, request, answer } of proxy.calls) {
    const { config } = request as { readonly config?: { readonly metadata?: { readonly uid?: string } } };
    if (made !== "RunPodSandbox" || config?.metadata?.uid !== uidOf(pod)) continue;
    ids.add((answer as { readonly podSandboxId: string } | undefined)?.podSandboxId ?? "");
  }
  return proxy.calls.filter((call) => call.method === method && ids.has(call.id));
}
