/**
 * Simulates the reboot of a node on a machine that keeps running. The node's agent, runtime, shims and containers die
 * at once. Its mounts, files in memory and cgroups are removed; files on disk stay. Then runtime and agent start again.
 */
import { readdir, readFile } from "node:fs/promises";
import { killAllBelow, removeCgroup } from "../cluster/cgroups.ts";
import type { Cluster, ClusterNode } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";

export async function reboot(cluster: Cluster, node: ClusterNode): Promise<void> {
  const [agent, runtime] = [cluster.component(`kubelet@${node.name}`), cluster.component(`containerd@${node.name}`)];
  await Promise.all([agent.kill(), runtime.kill()]);
  await killShims(node);
  const pods = `${node.cgroupParent}/kubepods`;
  await killAllBelow(pods);
  await node.run("sh", "-c", LOSE_MEMORY);
  await removeCgroup(pods);
  await runtime.restart();
  await agent.restart();
}

/**
 * Unmounts everything below these directories, nested mounts first, then empties /run itself. The symlink to the
 * runtime's socket stays: it exists from boot on.
 */
const LOSE_MEMORY = `
awk '$5 ~ "^(/run|/var/lib/kubelet|/var/lib/containerd)/" {print $5}' /proc/self/mountinfo | sort -r | while read -r path; do umount -l "$path"; done
find /run -mindepth 1 ! -path /run/containerd ! -path /run/containerd/containerd.sock -delete`;

/** Shims run beside their runtime, and are recognized by the socket to which they report. */
async function killShims({ containerdSocket }: ClusterNode): Promise<void> {
  const shims = async () => {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const found = await Promise.all(
      pids.map(async (pid) => {
        // A process that has exited meanwhile is not a shim.
        const words = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
        return words[0]?.includes("containerd-shim") === true && words.includes(containerdSocket) ? [Number(pid)] : [];
      }),
    );
    return found.flat();
  };
  for (const pid of await shims()) process.kill(pid, "SIGKILL");
  await waitUntil("the shims to be gone", 20_000, async () => (await shims()).length === 0);
}
