/** An agent's CRI requests for one pod, without what differs between nodes, clusters and machines. */
import type { Pod } from "../../src/api/gen/core-v1.ts";
import type { CriProxy } from "../cluster/cri-proxy.ts";
import { answered, podUidOfCall } from "./cri-log.ts";
import { neutralText, sorted } from "./normal-form.ts";

export const messagesOf = (proxy: CriProxy, method: string, pod: Pod, node: string): readonly unknown[] =>
  answered(proxy.calls, method)
    .filter((call) => podUidOfCall(call) === pod.metadata?.uid)
    .map(({ request }) => neutralMessage(request, pod, node));

/**
 * Normalizes the parts of a container's configuration that other suites compare, or whose differences no pod observes.
 */
const ELSEWHERE = {
  /** `ordinary-differential` compares the environment of Services inside the containers. */
  envs: () => [],
  /**
   * `ordinary-differential` compares the hosts file. SELinux relabeling matters only where SELinux is enabled, and
   * there both agents request it.
   */
  mounts: (mounts: unknown) =>
    (mounts as readonly { readonly containerPath: string }[])
      .filter(({ containerPath }) => containerPath !== "/etc/hosts")
      .map((mount) => ({ ...mount, selinuxRelabel: "either" })),
  /** The list is a set: its order does not matter. */
  hugepageLimits: (limits: unknown) =>
    (limits as readonly { readonly pageSize: string }[]).toSorted((a, b) => (a.pageSize < b.pageSize ? -1 : 1)),
  /**
   * A Burstable container's oom_score_adj depends on the machine's memory; `oom-score.test.ts` and
   * `cgroup-differential` compare the number.
   */
  oomScoreAdj: (score: unknown) => (Number(score) > 2 && Number(score) < 1000 ? "<Burstable>" : score),
} as const satisfies Record<string, (value: unknown) => unknown>;

export function neutralMessage(request: unknown, pod: Pod, node: string): unknown {
  const text = JSON.stringify(sorted(request), (key, value: unknown) => {
    const plain = typeof value === "bigint" ? String(value) : value;
    return Object.hasOwn(ELSEWHERE, key) ? ELSEWHERE[key as keyof typeof ELSEWHERE](plain) : plain;
  });
  const shown = neutralText(text, pod)
    // The termination message file has a random name, and each node has its own cgroup parent.
    .replaceAll(/(?<directory>containers\/[^/"]+\/)[0-9a-f]{8}\b/g, "$<directory><file>")
    .replaceAll(new RegExp(`/[^/"]+/${node}/kubepods`, "g"), "/<node>/kubepods");
  return JSON.parse(shown);
}
