/** Cases for sysctls, safe, allowed and not allowed, and for RuntimeClass handlers. */
import type { Pod } from "../../../../src/api/gen/core-v1.ts";
import type { RuntimeClass } from "../../../../src/api/gen/node-v1.ts";
import { runtimeClasses } from "../../../../src/api/resources.ts";
import { isEnhanced } from "../../../cluster/compatibility.ts";
import { pause } from "../../../cluster/wait.ts";
import type { ClusterPods } from "../../../support/cluster-pods.ts";
import {
  type Case,
  type Ending,
  FAILS,
  reported,
  SUCCEEDS,
  scripted,
  VIEW_SCRIPT,
  viewer,
  type World,
} from "../../ordinary-differential/case.ts";
import { bind, unscheduled } from "../../ordinary-differential/objects.ts";

const PROC = "/proc/sys";

/** A pod whose script succeeds only if the kernel setting has this value. */
const sysctl = (name: string, asked: string, value: string, ending: Ending = SUCCEEDS): Case => {
  const file = `${PROC}/${asked.replaceAll(".", "/")}`;
  return {
    name: `sysctl-${name}`,
    rows: ["5.7", "25.9"],
    ending,
    spec: {
      securityContext: { sysctls: [{ name: asked, value }] },
      containers: [scripted(`grep -q '${value.replaceAll(" ", "[[:space:]]")}' ${file} && {${VIEW_SCRIPT}\n}`)],
    },
  };
};

export const SYSCTL_CASES: readonly Case[] = [
  sysctl("safe", "net.ipv4.ip_unprivileged_port_start", "81"),
  sysctl("safe-range", "net.ipv4.ping_group_range", "0 7"),
  sysctl("safe-memory", "net.ipv4.tcp_rmem", "4096 131072 6291456"),
  sysctl("safe-slashes", "net/ipv4/tcp_fin_timeout", "33"),
  sysctl("allowed", "kernel.msgmax", "65000"),
  sysctl("unsafe", "kernel.shmmax", "1000000", FAILS),
  sysctl("unsafe-slashes", "net/core/somaxconn", "77", FAILS),
  sysctl("not-of-a-pod", "vm.swappiness", "10", FAILS),
];

/** RuntimeClasses of these names exist in the cluster. */
const CLASSES: Readonly<Record<string, Omit<RuntimeClass, "metadata">>> = {
  plain: { handler: "test-handler" },
  heavy: { handler: "runc", overhead: { podFixed: { cpu: "10m", memory: "8Mi" } } },
  strange: { handler: "nobody-has-it" },
};

export async function makeClasses({ pods }: World): Promise<void> {
  for (const [name, one] of Object.entries(CLASSES)) await makeClass(pods, name, one);
}

export const makeClass = (pods: ClusterPods, name: string, one: Omit<RuntimeClass, "metadata">) =>
  pods.api.create(runtimeClasses, { metadata: { name }, ...one }, forever);

/** Binds the pod after its RuntimeClass is deleted and both agents have observed the deletion. */
export async function bindWithoutClass(world: World, pod: Pod, node: string): Promise<void> {
  const runtimeClassName = `gone-${node}`;
  await makeClass(world.pods, runtimeClassName, { handler: "test-handler" });
  await world.pods.create(unscheduled({ ...pod, spec: { containers: [], ...pod.spec, runtimeClassName } }));
  await world.pods.api.delete(runtimeClasses, { name: runtimeClassName }, {}, forever);
  await pause(HEARD_MS);
  await bind(world, pod.metadata?.name ?? "", node);
}

const forever = new AbortController().signal;
const HEARD_MS = 2_000;

/** For every case whose pod names a RuntimeClass. Only the enhanced mode needs a rule. */
export const UNTIL_CLASSES_ARE_READ: Pick<Case, "leavesOut"> = isEnhanced
  ? {
      leavesOut: {
        part: "events",
        keys: /^Normal WaitingForRuntimeClass - /,
        why: "Deckhand reads the RuntimeClasses once a pod names one, and reports that to the pods that come before the answer",
      },
    }
  : {};

const classy = (name: string, runtimeClassName: string, ending: Ending = SUCCEEDS): Case => ({
  name: `class-${name}`,
  rows: ["7.1", "25.8"],
  ending,
  ...UNTIL_CLASSES_ARE_READ,
  spec: { runtimeClassName, containers: [viewer({ resources: { requests: { cpu: "10m" } } })] },
});

export const CLASS_CASES: readonly Case[] = [
  classy("handler", "plain"),
  classy("overhead", "heavy"),
  classy("strange-handler", "strange", reported("nobody-has-it")),
  {
    ...classy("gone", "", reported("not found")),
    create: (world, pod, side) => bindWithoutClass(world, pod, world.place(side).node),
  },
];
