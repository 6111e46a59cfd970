/**
 * A static busybox from its original source, with the configuration of Debian's static package and nmeter, but without
 * Debian's patches: with those the shell drops environment variables such as `data-1`, and upstream's tests of Secrets
 * and ConfigMaps fail.
 */
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { digestOf } from "../../../tools/oci.ts";
import { command } from "../../cluster/command.ts";
import { privateApt, sourceLines } from "./apt.ts";
import { keyFor, made, type Report } from "./making.ts";

/** The release of Debian whose source package has this version. */
const RELEASE = "trixie";
const ORIGINAL = "busybox_1.37.0.orig.tar.bz2";
const ORIGINAL_DIGEST = "sha256:3311dff32e746499f4df0d5df04d7eb396382d7e108bb9250e7b519b837043a4";
/** Upstream's node tests read milliseconds with it. */
const WITHOUT_NMETER = "# CONFIG_NMETER is not set";
const LIMIT_MS = 20 * 60_000;

/** Where the program is. */
export async function busyboxProgram(report: Report): Promise<string> {
  const key = await keyFor([import.meta.filename], [ORIGINAL_DIGEST]);
  const entry = await made({ kind: "busybox", key, report }, async (scratch) => {
    const build = join(scratch, "build");
    await mkdir(build);
    const source = await fetchSource(build);
    const settings = await readFile(join(build, "debian", "config", "pkg", "static"), "utf8");
    if (!settings.includes(WITHOUT_NMETER))
      throw new Error("Debian's configuration of busybox does not leave nmeter out");
    await writeFile(join(source, ".config"), settings.replace(WITHOUT_NMETER, "CONFIG_NMETER=y"));
    const options = { cwd: source, env: { KCONFIG_NOTIMESTAMP: "1" }, limitMs: LIMIT_MS };
    // Debian's patches have settings of their own, so some questions are open: each empty line takes the default.
    await command("make", ["silentoldconfig"], { ...options, input: "\n".repeat(2000) });
    await command("make", [`-j${availableParallelism()}`, "busybox"], options);
    await copyFile(join(source, "busybox"), join(scratch, "busybox"));
    await rm(build, { recursive: true });
  });
  return join(entry, "busybox");
}

/** Leaves the original source in a directory, whose path it answers, beside Debian's own directory. */
async function fetchSource(directory: string): Promise<string> {
  const apt = await privateApt(join(directory, "apt"), { sources: await sourceLines("deb-src", RELEASE) });
  await apt(["source", "--download-only", "busybox"], directory);
  const digest = digestOf(await readFile(join(directory, ORIGINAL)));
  if (digest !== ORIGINAL_DIGEST) throw new Error(`${ORIGINAL} is ${digest}, not ${ORIGINAL_DIGEST}`);
  const packaging = (await readdir(directory)).find((name) => name.endsWith(".debian.tar.xz"));
  if (packaging === undefined) throw new Error("the source package of busybox has no packaging");
  for (const archive of [ORIGINAL, packaging]) await command("tar", ["-xf", archive], { cwd: directory });
  return join(directory, "busybox-1.37.0");
}
