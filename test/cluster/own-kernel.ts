/**
 * An agent writes settings of the kernel, and those are the machine's. So it runs behind copies of them: in a mount namespace of its own, whose /proc
 * alone is private, so that every other mount it makes is seen by the node's runtime, and the other way round.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** As a kernel begins with, or otherwise than a kubelet wants them: what it makes of them is its own work. */
const BEGUN_WITH = {
  "vm/overcommit_memory": "0",
  "vm/panic_on_oom": "1",
  "kernel/panic": "0",
  "kernel/panic_on_oops": "0",
  "kernel/keys/root_maxkeys": "200",
  "kernel/keys/root_maxbytes": "20000",
} as const;

type Written = keyof typeof BEGUN_WITH;

const copies = (folder: string) => join(folder, "kernel");

/** Before an agent is started so. What one wrote stays with the node for the next. */
export async function makeKernelSettings(folder: string): Promise<void> {
  for (const [name, value] of Object.entries(BEGUN_WITH)) {
    const copy = join(copies(folder), name);
    await mkdir(dirname(copy), { recursive: true });
    await writeFile(copy, `${value}\n`);
  }
}

/** Where a test looks for what an agent made of a setting, and sets it beforehand. */
export const kernelSettingCopy = (folder: string, name: Written) => join(copies(folder), name);

/** Lays the copies over the settings, in the mount namespace of whoever runs these lines of shell. */
export const layOver = (folder: string): readonly string[] => [
  "mount --make-rprivate /proc",
  ...Object.keys(BEGUN_WITH).map((name) => `mount --bind ${join(copies(folder), name)} /proc/sys/${name}`),
];

/** And takes them away again. */
export const takeAway = (): readonly string[] => Object.keys(BEGUN_WITH).map((name) => `umount /proc/sys/${name}`);

/** The command line that runs `command` so, as the same process. */
export function behindOwnKernel(folder: string, command: readonly string[]): readonly string[] {
  const script = [...layOver(folder), 'exec "$@"'].join(" && ");
  return ["unshare", "--mount", "--propagation", "unchanged", "--", "/bin/sh", "-c", script, "sh", ...command];
}
