/**
 * The Go kubelet's results: the files of its cgroups, and its requests to the runtime, as containerd has recorded them.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../../../src/base/error-text.ts";
import type { ClusterNode } from "../../cluster/cluster.ts";
import { command } from "../../cluster/command.ts";
import { buildParts } from "../../cluster/parts.ts";

/** Every cgroup v1 file that a kubelet writes on this machine, or that shows whether it wrote one. */
export const FILES = [
  "cpu/cpu.shares",
  "cpu/cpu.cfs_quota_us",
  "cpu/cpu.cfs_period_us",
  "memory/memory.limit_in_bytes",
  "memory/memory.memsw.limit_in_bytes",
  "pids/pids.max",
  "cpuset/cpuset.cpus",
  "cpuset/cpuset.mems",
] as const;

export type GroupFiles = Readonly<Record<(typeof FILES)[number], string>>;

export type CpusetFiles = Pick<GroupFiles, "cpuset/cpuset.cpus" | "cpuset/cpuset.mems">;

/** The contents of the cgroup's files at `path` in each hierarchy; rejects if a hierarchy lacks the cgroup. */
export const groupFiles = async (path: string) => (await texts(path, FILES)) as GroupFiles;

/** All CPUs and memory nodes of the machine. */
export const machineCpuset = async () =>
  (await texts("/", ["cpuset/cpuset.cpus", "cpuset/cpuset.mems"])) as CpusetFiles;

async function texts(path: string, files: readonly string[]): Promise<unknown> {
  const entries: [string, string][] = [];
  for (const file of files) {
    const [controller = "", name = ""] = file.split("/");
    entries.push([file, (await readFile(join("/sys/fs/cgroup", controller, path, name), "utf8")).trim()]);
  }
  return Object.fromEntries(entries);
}

/** As in CRI, numbers that are zero are omitted. */
export interface CriResources {
  readonly cpu_period?: number;
  readonly cpu_quota?: number;
  readonly cpu_shares?: number;
  readonly memory_limit_in_bytes?: number;
  readonly memory_swap_limit_in_bytes?: number;
  readonly oom_score_adj?: number;
  readonly hugepage_limits?: readonly { readonly page_size: string; readonly limit?: number }[];
  readonly unified?: Readonly<Record<string, string>>;
}

export interface CriRecord {
  readonly id: string;
  readonly kind: "container" | "sandbox";
  readonly podUid: string;
  readonly containerName: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly linux: {
    readonly cgroup_parent?: string;
    readonly resources?: CriResources;
    readonly overhead?: CriResources;
  };
}

interface ContainerdRecord {
  readonly ID: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Extensions: Readonly<Record<string, { readonly value: string }>>;
}

interface CriMetadata {
  readonly Metadata: {
    readonly Config: { readonly linux: CriRecord["linux"]; readonly annotations?: CriRecord["annotations"] };
  };
}

/** The requests of CreateContainer and RunPodSandbox as containerd stores them. */
export async function criRecords(node: ClusterNode): Promise<readonly CriRecord[]> {
  const parts = await buildParts();
  const ctr = (...args: readonly string[]) =>
    command(parts.path("ctr"), ["--address", node.containerdSocket, "--namespace", "k8s.io", "containers", ...args]);
  const records: CriRecord[] = [];
  for (const id of (await ctr("ls", "-q")).split("\n").filter((line) => line !== "")) {
    const info = await ctr("info", id).catch(goneSince);
    if (info === undefined) continue;
    const { Labels, Extensions } = JSON.parse(info) as ContainerdRecord;
    const [extension] = Object.values(Extensions);
    const text = Buffer.from(extension?.value ?? "", "base64").toString();
    const { linux, annotations = {} } = (JSON.parse(text) as CriMetadata).Metadata.Config;
    records.push({
      id,
      kind: Labels["io.cri-containerd.kind"] === "sandbox" ? "sandbox" : "container",
      podUid: Labels["io.kubernetes.pod.uid"] ?? "",
      containerName: Labels["io.kubernetes.container.name"] ?? "",
      annotations,
      linux,
    });
  }
  return records;
}

/** Ignores "not found": the node may remove containers of earlier pods after they are listed. Rethrows other errors. */
function goneSince(error: unknown): undefined {
  if (!errorText(error).includes(": not found")) throw error;
}
