/** Finds the cgroups, files and networks of the workload through the API server and the kernel. */
import assert from "node:assert/strict";
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import { groupsOf, type Room, roomAt } from "./kernel.ts";
import type { ContainerPlaces, Files, NodePlaces, PodPlaces } from "./summary-values.ts";

const BLOCK_BYTES = 512;
const KUBELET = "/var/lib/kubelet";
const SNAPSHOTS = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots";
const TIERS: Readonly<Record<string, string>> = { BestEffort: "besteffort", Burstable: "burstable", Guaranteed: "" };

/** The size of a directory tree, including the directory itself; each inode counts once. */
function walked(path: string): Files {
  const seen = new Map<string, number>();
  const walk = (one: string): void => {
    const stat = lstatSync(one);
    seen.set(`${stat.dev}:${stat.ino}`, stat.blocks * BLOCK_BYTES);
    if (stat.isDirectory()) for (const name of readdirSync(one)) walk(join(one, name));
  };
  walk(path);
  return { bytes: [...seen.values()].reduce((sum, bytes) => sum + bytes, 0), inodes: seen.size };
}

/** The size of the files directly in a directory. */
function filesIn(path: string): Files {
  const files = readdirSync(path, { withFileTypes: true }).filter((entry) => !entry.isDirectory());
  const bytes = files.reduce((sum, { name }) => sum + lstatSync(join(path, name)).blocks * BLOCK_BYTES, 0);
  return { bytes, inodes: files.length };
}

export interface WorkloadPlaces extends NodePlaces {
  /** Every cgroup that is read. */
  readonly groups: readonly string[];
  readonly kubeletGroup: string;
}

export async function placesOf(
  cluster: Cluster,
  node: ClusterNode,
  namespace: string,
  { kubeletGroup, startedMs }: { readonly kubeletGroup: string; readonly startedMs: number },
): Promise<WorkloadPlaces> {
  const { items } = JSON.parse(await cluster.kubectl("-n", namespace, "get", "pods", "-o", "json")) as {
    readonly items: readonly Pod[];
  };
  const limit = async (file: string) => Number((await node.run("cat", `/proc/sys/kernel/${file}`)).stdout);
  return {
    pods: new Map(items.map((pod) => [pod.metadata?.name ?? "", podPlaces(node, namespace, pod)])),
    system: new Map([
      ["pods", join(node.cgroupParent, "kubepods")],
      ["kubelet", kubeletGroup],
    ]),
    room: roomAt(node.inside(KUBELET)),
    images: snapshots(node),
    processesMax: Math.min(await limit("pid_max"), await limit("threads-max")),
    startedMs,
    groups: groupsOf(node, kubeletGroup),
    kubeletGroup,
  };
}

function podPlaces(node: ClusterNode, namespace: string, { metadata, spec, status }: Pod): PodPlaces {
  const uid = metadata?.annotations?.["kubernetes.io/config.hash"] ?? metadata?.uid ?? "";
  const name = metadata?.name ?? "";
  const group = join(node.cgroupParent, "kubepods", TIERS[status?.qosClass ?? ""] ?? "", `pod${uid}`);
  const logs = node.inside(`/var/log/pods/${namespace}_${name}_${uid}`);
  const ids = new Map(
    (status?.containerStatuses ?? []).map((one) => [one.name, one.containerID?.split("//")[1] ?? ""]),
  );
  const containers = [...ids].map(([container, id]): readonly [string, ContainerPlaces] => {
    const own = join(group, id);
    return [
      container,
      { group: own, written: walked(node.inside(upperOf(own))), logs: filesIn(join(logs, container)) },
    ];
  });
  const below = readdirSync(join("/sys/fs/cgroup/memory", group), { withFileTypes: true });
  const known = new Set(ids.values());
  const sandbox =
    below.find((entry) => entry.isDirectory() && !known.has(entry.name)) ?? assert.fail(`${name} has no sandbox`);
  const hosts = node.inside(`${KUBELET}/pods/${uid}/etc-hosts`);
  return {
    group,
    containers: new Map(containers),
    sandbox: join(group, sandbox.name),
    volumes: volumePlaces(node, uid, spec?.volumes?.find((one) => one.persistentVolumeClaim !== undefined)?.name),
    hosts: existsSync(hosts) ? { bytes: lstatSync(hosts).blocks * BLOCK_BYTES, inodes: 1 } : { bytes: 0, inodes: 0 },
  };
}

/** The overlay's upper directory, which a container writes to, from the mounts of its first process. */
function upperOf(group: string): string {
  const [pid = ""] = readFileSync(join("/sys/fs/cgroup/memory", group, "cgroup.procs"), "utf8").split("\n");
  const mounts = readFileSync(`/proc/${pid}/mountinfo`, "utf8");
  return /upperdir=([^,\s]+)/.exec(mounts)?.[1] ?? assert.fail(`${group} has no upper directory`);
}

function volumePlaces(
  node: ClusterNode,
  uid: string,
  claim: string | undefined,
): ReadonlyMap<string, { readonly room: Room; readonly files: Files | undefined }> {
  const all = node.inside(`${KUBELET}/pods/${uid}/volumes`);
  const found = readdirSync(all).flatMap((plugin) =>
    readdirSync(join(all, plugin)).map((name) => {
      const path = join(all, plugin, name);
      const isClaim = plugin === "kubernetes.io~local-volume";
      const volume = isClaim ? (claim ?? name) : name.replace(/^kube-api-access-.*/, "kube-api-access");
      return [volume, { room: roomAt(path), files: isClaim ? undefined : walked(path) }] as const;
    }),
  );
  return new Map(found);
}

/** The size of what the runtime has unpacked and what containers have written. */
function snapshots(node: ClusterNode): Files {
  const all = node.inside(SNAPSHOTS);
  const each = readdirSync(all).map((name) => walked(join(all, name, "fs")));
  return {
    bytes: each.reduce((sum, { bytes }) => sum + bytes, 0),
    inodes: each.reduce((sum, { inodes }) => sum + inodes, 0),
  };
}

/** The cgroup of a metric: by its own label, or by its pod and container. */
export function groupOfMetric(
  places: WorkloadPlaces,
): (name: string, labels: Readonly<Record<string, string>>) => string | undefined {
  return (name, { id, pod = "", container }) => {
    if (id !== undefined) return id;
    if (name.startsWith("node_")) return "/";
    const found = places.pods.get(pod);
    return container === undefined ? found?.group : found?.containers.get(container)?.group;
  };
}
