/** What an agent asked of the runtime for one pod, without what cannot be the same on two nodes. */
import type { Pod } from "../../src/api/gen/core-v1.ts";
import type { CriProxy } from "../cluster/cri-proxy.ts";
import { answered, podUidOfCall } from "./cri-log.ts";
import { neutralText, sorted } from "./normal-form.ts";

export const messagesOf = (proxy: CriProxy, method: string, pod: Pod, node: string): readonly unknown[] =>
  answered(proxy.calls, method)
    .filter((call) => podUidOfCall(call) === pod.metadata?.uid)
    .map(({ request }) => neutralMessage(request, pod, node));

/** Parts of a container's configuration that come with later rows, and what no pod notices. */
const LATER = {
  /** 24.6: the environment of Services. */
  envs: () => [],
  /** 24.4: the hosts file. Whether a path is relabelled matters only where SELinux is on, and there both say so. */
  mounts: (mounts: unknown) =>
    (mounts as readonly { readonly containerPath: string }[])
      .filter(({ containerPath }) => containerPath !== "/etc/hosts")
      .map((mount) => ({ ...mount, selinuxRelabel: "either" })),
  /** A set. */
  hugepageLimits: (limits: unknown) =>
    (limits as readonly { readonly pageSize: string }[]).toSorted((a, b) => (a.pageSize < b.pageSize ? -1 : 1)),
} as const satisfies Record<string, (value: unknown) => unknown>;

export function neutralMessage(request: unknown, pod: Pod, node: string): unknown {
  const text = JSON.stringify(sorted(request), (key, value: unknown) => {
    if (typeof value === "bigint") return String(value);
    return Object.hasOwn(LATER, key) ? LATER[key as keyof typeof LATER](value) : value;
  });
  const shown = neutralText(text, pod)
    // The file for last words has a name by chance, and the node's cgroups are below one of its own.
    .replaceAll(/(?<folder>containers\/[^/"]+\/)[0-9a-f]{8}\b/g, "$<folder><file>")
    .replaceAll(`/${node}/kubepods`, "/<node>/kubepods");
  return JSON.parse(shown);
}
