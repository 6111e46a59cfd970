/**
 * An agent writes settings of the kernel, and those are the machine's. So it runs behind copies of them: in a mount namespace of its own, whose /proc
 * alone is private, so that every other mount it makes is seen by the node's runtime, and the other way round.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const WRITTEN = [
  "vm/overcommit_memory",
  "vm/panic_on_oom",
  "kernel/panic",
  "kernel/panic_on_oops",
  "kernel/keys/root_maxkeys",
  "kernel/keys/root_maxbytes",
] as const;

const copies = (folder: string) => join(folder, "kernel");

/** Of the machine's own values as they are now; what an agent wrote before stays with the node. */
export async function copyKernelSettings(folder: string): Promise<void> {
  for (const name of WRITTEN) {
    const copy = join(copies(folder), name);
    await mkdir(dirname(copy), { recursive: true });
    await writeFile(copy, await readFile(`/proc/sys/${name}`), { flag: "wx" }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    });
  }
}

/** Where a test looks for what an agent made of a setting, and sets it beforehand. */
export const kernelSettingCopy = (folder: string, name: (typeof WRITTEN)[number]) => join(copies(folder), name);

/** The command line that runs `command` so, as the same process. */
export function behindOwnKernel(folder: string, command: readonly string[]): readonly string[] {
  const binds = WRITTEN.map((name) => `mount --bind ${join(copies(folder), name)} /proc/sys/${name}`);
  const script = ["mount --make-rprivate /proc", ...binds, 'exec "$@"'].join(" && ");
  return ["unshare", "--mount", "--propagation", "unchanged", "--", "/bin/sh", "-c", script, "sh", ...command];
}
