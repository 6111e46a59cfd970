/**
 * The directory that e2e_node.test takes its kubelet from (`--k8s-bin-dir`). The `kubelet` in it starts either agent
 * with the arguments that the test gives, behind copies of the kernel settings that an agent writes.
 */
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compatibilityFlags } from "../cluster/compatibility.ts";
import { behindOwnKernel } from "../cluster/own-kernel.ts";
import type { Parts } from "../cluster/parts.ts";
import { builtProgram } from "../support/built-program.ts";

/** `directory` is the node's directory of the layout. */
export async function makeKubeletDirectory(directory: string, agent: "go" | "deckhand", parts: Parts): Promise<string> {
  const bin = join(directory, "bin");
  const program = join(bin, "program", "kubelet");
  await mkdir(join(bin, "program"), { recursive: true });
  // Tests find the process by this name, and Deckhand is a kubelet when it is called so.
  await symlink(agent === "go" ? parts.path("kubelet") : (await builtProgram()).executable, program);
  const command = behindOwnKernel(directory, [program, ...(agent === "go" ? [] : compatibilityFlags)]);
  const script = join(bin, "kubelet");
  await writeFile(script, `#!/bin/sh\nexec ${command.map(quoted).join(" ")} "$@"\n`);
  await chmod(script, 0o755);
  return bin;
}

const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;
