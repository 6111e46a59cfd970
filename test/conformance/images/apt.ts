/**
 * Debian packages for images, from the mirror this machine's own apt uses. Everything apt writes goes to a scratch directory: the
 * machine's lists, sources and packages stay as they are.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { command } from "../../cluster/command.ts";

/** Comes with every Debian, and has the keys of the releases beside the machine's own. */
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const LIMIT_MS = 10 * 60_000;

/** The lines of a sources.list for one release, with its security updates where the machine has a mirror for them. */
export async function sourceLines(type: "deb" | "deb-src", release: string): Promise<readonly string[]> {
  const { main, security } = await mirrors();
  const line = (uri: string, suite: string) => `${type} [signed-by=${KEYRING}] ${uri} ${suite} main`;
  return [line(main, release), ...(security === undefined ? [] : [line(security, `${release}-security`)])];
}

interface Mirrors {
  readonly main: string;
  readonly security: string | undefined;
}

async function mirrors(): Promise<Mirrors> {
  const known = await knownMirrors();
  if (known !== undefined) return known;
  // apt only knows packages from its lists, and a fresh machine has no lists.
  await command("apt-get", ["update", "-qq"], { limitMs: LIMIT_MS });
  const fetched = await knownMirrors();
  if (fetched === undefined) throw new Error("the machine's apt has no mirror of Debian's main archive");
  return fetched;
}

async function knownMirrors(): Promise<Mirrors | undefined> {
  const codename = /^VERSION_CODENAME=(?<name>\w+)$/m.exec(await readFile("/etc/os-release", "utf8"))?.groups?.["name"];
  if (codename === undefined) throw new Error("the machine's release of Debian has no name");
  const targets = await command("apt-get", [
    "indextargets",
    "--format",
    "$(REPO_URI) $(RELEASE) $(COMPONENT)",
    "Created-By: Packages",
  ]);
  const uris = new Map(
    targets.split("\n").flatMap((line) => {
      const [uri, release, component] = line.split(" ");
      return uri !== undefined && release !== undefined && component === "main" ? [[release, uri] as const] : [];
    }),
  );
  const main = uris.get(codename);
  return main === undefined ? undefined : { main, security: uris.get(`${codename}-security`) };
}

/** An apt of its own in `directory`; `status` is the dpkg database of the system that packages are chosen for. */
export async function privateApt(
  directory: string,
  { sources, status }: { readonly sources: readonly string[]; readonly status?: string },
): Promise<(args: readonly string[], cwd?: string) => Promise<string>> {
  for (const name of ["lists/partial", "cache/archives/partial"])
    await mkdir(join(directory, name), { recursive: true });
  await writeFile(join(directory, "sources.list"), sources.map((line) => `${line}\n`).join(""));
  const settings = {
    "Dir::Etc::sourcelist": join(directory, "sources.list"),
    "Dir::Etc::sourceparts": "-",
    "Dir::State::lists": join(directory, "lists"),
    "Dir::State::extended_states": join(directory, "extended_states"),
    "Dir::Cache": join(directory, "cache"),
    "Debug::NoLocking": "1",
    // The directory is only root's.
    "APT::Sandbox::User": "root",
    ...(status === undefined ? {} : { "Dir::State::status": status }),
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const run = (args: readonly string[], cwd = directory) =>
    command("apt-get", [...options, "-qq", ...args], {
      cwd,
      env: { DEBIAN_FRONTEND: "noninteractive" },
      limitMs: LIMIT_MS,
    });
  await run(["update"]);
  return run;
}
