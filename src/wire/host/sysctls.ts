/** The Sysctls port over /proc/sys, or a directory like it. */
import { access, constants, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Sysctls } from "../../ports/sysctls.ts";
import { errnoOf } from "./errno.ts";

export function createSysctls({ root = "/proc/sys" }: { readonly root?: string } = {}): Sysctls {
  const pathOf = (name: string) => join(root, name.replaceAll(".", "/"));
  return {
    async read(name) {
      try {
        return (await readFile(pathOf(name), "utf8")).trim();
      } catch (error) {
        if (errnoOf(error) === "ENOENT") return undefined;
        throw error;
      }
    },
    isWritable: (name) =>
      access(pathOf(name), constants.W_OK).then(
        () => true,
        () => false,
      ),
    async write(name, value) {
      try {
        // Never create the file: a missing file is no setting.
        await writeFile(pathOf(name), value, { flag: constants.O_WRONLY | constants.O_TRUNC });
      } catch (error) {
        throw new Error(`kernel setting ${name} cannot be set to ${value}: ${errnoOf(error)}`, { cause: error });
      }
    },
  };
}
