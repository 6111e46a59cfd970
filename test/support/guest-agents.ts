/** Runs either agent in a guest with static pods, and reads the guest's cgroups. */
import { realpath } from "node:fs/promises";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import type { CgroupDriver } from "../../src/domain/runtime/runtime-info.ts";
import { waitUntil } from "../cluster/wait.ts";
import type { Payloads } from "../guest/disks.ts";
import type { Guest } from "../guest/guest.ts";
import { noteStarted } from "../started-parts.ts";
import { builtProgram } from "./built-program.ts";

export type Agent = "go" | "deckhand";

const MANIFESTS = "/etc/kubernetes/manifests";
const CONFIGURATION = "/etc/kubelet.json";
const DECKHAND = "/opt/deckhand";
const ATOMIC = "/usr/lib/x86_64-linux-gnu/libatomic.so.1";
const START_MS = 4 * 60_000;

/** The start of the command line, without a subcommand. */
export const DECKHAND_PROGRAM = `${DECKHAND}/node ${DECKHAND}/deckhand.js`;

const PROGRAMS: Readonly<Record<Agent, string>> = {
  go: "/opt/kubernetes/bin/kubelet",
  deckhand: `${DECKHAND_PROGRAM} kubelet`,
};

/**
 * On an emulated processor, compiling our sources takes most of Node.js' start. One process fills the compile cache,
 * and the next one reads it.
 */
export const COMPILED = "NODE_COMPILE_CACHE=/var/cache/deckhand-compiled";
const WARM_UP: Readonly<Record<Agent, string>> = {
  go: "true",
  deckhand: `${COMPILED} ${DECKHAND_PROGRAM} volume-helper </dev/null`,
};

/** Deckhand's files, to be copied into a guest. */
export async function deckhandPayloads(): Promise<Payloads> {
  const { bundle } = await builtProgram();
  return {
    [`${DECKHAND}/node`]: { from: process.execPath },
    [`${DECKHAND}/deckhand.js`]: { from: bundle },
    // Node.js needs it, and a small Debian does not have it.
    [ATOMIC]: { from: await realpath(ATOMIC) },
  };
}

/** Sets the cgroup driver of the guest's runtime, from which agents take theirs. */
export async function useDriver(guest: Guest, driver: CgroupDriver): Promise<void> {
  const isSystemd = driver === "systemd";
  await guest.must(`
    sed -i 's/SystemdCgroup = .*/SystemdCgroup = ${isSystemd}/' /etc/containerd/config.toml
    systemctl restart containerd`);
}

export const configuration = (changes: object = {}) => ({
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: "AlwaysAllow" },
  containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
  staticPodPath: MANIFESTS,
  maxPods: 250,
  ...changes,
});

/**
 * Resolves when the agent's health port accepts connections. Rejects with the agent's log when the agent exits instead.
 */
export async function startAgent(guest: Guest, agent: Agent, config: object = configuration()): Promise<void> {
  noteStarted(agent === "go" ? "kubelet" : "deckhand");
  await guest.put({ [CONFIGURATION]: { content: JSON.stringify(config) } });
  await launchAgent(guest, agent, [`--config=${CONFIGURATION}`, "--hostname-override=guest"]);
}

/** Like `startAgent`, with files that already exist in the guest. */
export async function launchAgent(guest: Guest, agent: Agent, flags: readonly string[]): Promise<void> {
  await guest.must(`mkdir -p ${MANIFESTS}\nsystemctl reset-failed agent 2>/dev/null || true\n${WARM_UP[agent]}`);
  const command = [PROGRAMS[agent], ...flags].join(" ");
  await guest.must(`systemd-run --quiet --unit agent --service-type=exec -E ${COMPILED} ${command}`);
  await guest.must(
    `until (exec 3<>/dev/tcp/127.0.0.1/10248) 2>/dev/null; do
       systemctl is-active --quiet agent || { journalctl -u agent -n 40 --no-pager; exit 1; }
       sleep 0.5
     done`,
    { limitMs: START_MS },
  );
}

/** Runs an agent that is expected to exit by itself. */
export async function runAgent(
  guest: Guest,
  agent: Agent,
  config: object,
): Promise<{ readonly code: number; readonly output: string }> {
  await guest.put({ [CONFIGURATION]: { content: JSON.stringify(config) } });
  const { code, stdout } = await guest.run(
    `${WARM_UP[agent]}; ${COMPILED} timeout 120 ${PROGRAMS[agent]} --config=${CONFIGURATION} --hostname-override=guest 2>&1`,
    { limitMs: START_MS },
  );
  return { code, output: stdout };
}

export const stopAgent = (guest: Guest) => guest.must("systemctl stop agent");

export async function setPods(guest: Guest, pods: readonly Pod[]): Promise<void> {
  if (pods.length === 0) return void (await guest.must(`rm -f ${MANIFESTS}/*`));
  const files = pods.map((pod) => [`${MANIFESTS}/${pod.metadata?.name}.json`, { content: JSON.stringify(pod) }]);
  await guest.put(Object.fromEntries(files) as Payloads);
}

/** All writable files: by the path of their cgroup below the hierarchy's root, then by file name. */
export type Groups = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** Files that act on a cgroup instead of holding one of its values. */
const ACTS = ["cgroup.procs", "cgroup.threads", "cgroup.kill", "cgroup.freeze", "memory.reclaim", "*.pressure"];

/** Reads all cgroups of Kubernetes, in the naming of either cgroup driver. */
export async function readGroups(guest: Guest): Promise<Groups> {
  const others = ACTS.map((name) => `! -name '${name}'`).join(" ");
  const text = await guest.must(
    `cd /sys/fs/cgroup; find . -path './kubepods*' -type f -perm -u=w ${others} -exec grep -H '' {} + || true`,
  );
  const groups = new Map<string, Record<string, string>>();
  for (const line of text.split("\n").filter((one) => one !== "")) {
    const [path = "", value = ""] = line.split(/:(.*)/s);
    const cut = path.lastIndexOf("/");
    const [group, file] = [path.slice(1, cut), path.slice(cut + 1)];
    const known = groups.get(group) ?? {};
    known[file] = file in known ? `${known[file]}\n${value}` : value;
    groups.set(group, known);
  }
  return groups;
}

const POD_GROUP = /(?:\/|-)pod[0-9a-f][0-9a-f_-]+(?:\.slice)?$/;
const CONTAINER_GROUP = /\/(?:cri-containerd-)?[0-9a-f]{64}(?:\.scope)?$/;

export const podGroups = (groups: Groups) => [...groups.keys()].filter((group) => POD_GROUP.test(group));
export const containerGroups = (groups: Groups) => [...groups.keys()].filter((group) => CONTAINER_GROUP.test(group));

/** Reading all cgroups occupies an emulated processor for a second, in which no pod makes progress. */
const READ_EVERY_MS = 4_000;

export async function waitForGroups(
  guest: Guest,
  what: string,
  isThere: (groups: Groups) => boolean,
  limitMs = 10 * 60_000,
): Promise<Groups> {
  let groups: Groups = new Map();
  await waitUntil(
    what,
    limitMs,
    async () => {
      groups = await readGroups(guest);
      return isThere(groups);
    },
    READ_EVERY_MS,
  );
  return groups;
}

/**
 * Container cgroups have different names in every run, so they are listed per pod without their names, sorted by
 * content.
 */
export function withoutContainerIds(groups: Groups): Readonly<Record<string, unknown>> {
  const reported: Record<string, unknown> = {};
  const inside = new Map<string, string[]>();
  for (const [group, files] of groups) {
    const text = Object.entries(files).toSorted(([a], [b]) => (a < b ? -1 : 1));
    if (!CONTAINER_GROUP.test(group)) reported[group] = Object.fromEntries(text);
    else {
      const pod = group.slice(0, group.lastIndexOf("/"));
      inside.set(pod, [...(inside.get(pod) ?? []), JSON.stringify(text)].toSorted());
    }
  }
  for (const [pod, containers] of inside) reported[`${pod}/*`] = containers;
  return reported;
}
