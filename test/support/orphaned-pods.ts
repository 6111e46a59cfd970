/**
 * Plants what pods leave on a node when they are deleted while its kubelet is down: directories, logs, a log link, and
 * a cgroup with a running process.
 */
import { spawn } from "node:child_process";
import { lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeCgroup, procsFiles } from "../cluster/cgroups.ts";
import { onMachine } from "./node-files.ts";
import type { SurvivalWorld } from "./survival-world.ts";

export const EVERYTHING = ["directory", "logs", "link", "cgroup"] as const;

export interface OrphanedPod {
  /** Which of the planted things still exist. */
  left(): Promise<readonly string[]>;
  isAlive(): boolean;
  cpuShares(): Promise<number>;
  inVolume(): Promise<readonly string[]>;
  removeDirectory(): Promise<void>;
}

/** `volume`: path of a file below the pod's directory of volumes; empty for none. */
export async function plant(world: SurvivalWorld, uid: string, volume: string): Promise<OrphanedPod> {
  const [node] = world.cluster.nodes;
  if (node === undefined) throw new Error("the cluster has no node");
  const group = `${node.cgroupParent}/kubepods/besteffort/pod${uid}`;
  const directory = onMachine(node, `/var/lib/kubelet/pods/${uid}`);
  const kept = join(directory, "volumes", volume);
  const logs = onMachine(node, `/var/log/pods/gone_orphan_${uid}`);
  const link = onMachine(node, `/var/log/containers/orphan_gone_app-${uid}.log`);
  await mkdir(volume === "" ? kept : dirname(kept), { recursive: true });
  if (volume !== "") await writeFile(kept, "somebody's data");
  await mkdir(join(logs, "app"), { recursive: true });
  await symlink(`/var/log/pods/gone_orphan_${uid}/app/0.log`, link);
  await makeCgroup(group);
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  for (const file of await procsFiles(group)) await writeFile(file, String(child.pid));
  const cpu = join("/sys/fs/cgroup/cpu", group);
  const paths = { directory, logs, link, cgroup: cpu };
  const isThere = (path: string) =>
    lstat(path).then(
      () => true,
      () => false,
    );
  return {
    left: async () => {
      const there = await Promise.all(EVERYTHING.map((what) => isThere(paths[what])));
      return EVERYTHING.filter((_, index) => there[index]);
    },
    isAlive: () => child.exitCode === null && child.signalCode === null,
    cpuShares: async () => Number(await readFile(join(cpu, "cpu.shares"), "utf8")),
    inVolume: () => readdir(dirname(kept)),
    removeDirectory: () => rm(directory, { recursive: true }),
  };
}
