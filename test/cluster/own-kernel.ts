/**
 * Gives an agent its own copies of the kernel settings that it writes, because the settings belong to the machine. The
 * agent runs in its own mount namespace where only /proc is private. All its other mounts propagate to the node's
 * runtime, and the runtime's mounts to the agent.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Initial values: the kernel's defaults, or values other than a kubelet wants. The agent has to set what it needs. */
const BEGUN_WITH = {
  "vm/overcommit_memory": "0",
  "vm/panic_on_oom": "1",
  "kernel/panic": "0",
  "kernel/panic_on_oops": "0",
  "kernel/keys/root_maxkeys": "200",
  "kernel/keys/root_maxbytes": "20000",
} as const;

type Written = keyof typeof BEGUN_WITH;

const copies = (directory: string) => join(directory, "kernel");

/**
 * Creates the copies, before an agent starts behind them. Values that an agent wrote stay with the node for the next
 * agent.
 */
export async function makeSysctls(directory: string): Promise<void> {
  for (const [name, value] of Object.entries(BEGUN_WITH)) {
    const copy = join(copies(directory), name);
    await mkdir(dirname(copy), { recursive: true });
    await writeFile(copy, `${value}\n`);
  }
}

/** The file in which a test reads the value an agent set, or sets a value beforehand. */
export const kernelSettingCopy = (directory: string, name: Written) => join(copies(directory), name);

/** Shell lines that bind-mount the copies over the settings, in the mount namespace of the shell that runs them. */
export const layOver = (directory: string): readonly string[] => [
  "mount --make-rprivate /proc",
  ...Object.keys(BEGUN_WITH).map((name) => `mount --bind ${join(copies(directory), name)} /proc/sys/${name}`),
];

/** Shell lines that unmount the copies. */
export const umountCommands = (): readonly string[] =>
  Object.keys(BEGUN_WITH).map((name) => `umount /proc/sys/${name}`);

/** The command line that runs `command` behind the copies, as the same process. */
export function behindOwnKernel(directory: string, command: readonly string[]): readonly string[] {
  const script = [...layOver(directory), 'exec "$@"'].join(" && ");
  return ["unshare", "--mount", "--propagation", "unchanged", "--", "/bin/sh", "-c", script, "sh", ...command];
}
