/**
 * The shipped program, built once per state of the sources and shared by all test files that need it. The cache key
 * covers every file that a build reads, so changed sources cause a new build.
 */
import { createHash } from "node:crypto";
import { globSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type BuiltProgram, buildProgram } from "../../tools/build/program.ts";
import { repositoryRoot } from "../../tools/repository.ts";
import { cached } from "../cluster/cache.ts";
import { bundleIn } from "./bundle.ts";

const IN_USE_MS = 3 * 60 * 60_000;
const DESCRIPTION = "program.json";
const READ_BY_A_BUILD = ["src/**/*.ts", "tools/build/**", "tools/*.ts", "package.json", "package-lock.json", "LICENSE"];

let key: string | undefined;

/** Computed once: the sources do not change while a test file runs. */
const contentKey = (): string => (key ??= hashSources());

function hashSources(): string {
  const hash = createHash("sha256").update(process.version);
  const files = globSync(READ_BY_A_BUILD, { cwd: repositoryRoot, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  for (const path of files.map((entry) => join(entry.parentPath, entry.name)).toSorted()) {
    hash.update(path.slice(repositoryRoot.length)).update("\0").update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex").slice(0, 32);
}

/**
 * Removes old builds: each has 120 MB, and every change of the sources makes another. A build that was requested in the
 * last hours may be in use: a proof takes up to 90 minutes and restarts its agents.
 */
function removeOldBuilds(directory: string): void {
  for (const name of readdirSync(directory)) {
    const build = join(directory, name);
    if (Date.now() - statSync(build).mtimeMs > IN_USE_MS) rmSync(build, { recursive: true, force: true });
  }
}

function noteUse(build: string): void {
  const now = new Date();
  utimesSync(build, now, now);
}

/** Builds only the bundle, which takes a second. Nodes of the harness run it unless a test names another program. */
export async function builtBundle(): Promise<string> {
  const directory = await cached("bundles", contentKey(), async (scratch) => {
    removeOldBuilds(dirname(scratch));
    await bundleIn(scratch);
  });
  noteUse(directory);
  return join(directory, "deckhand.js");
}

/** Builds the whole program. Users must not write to its directory: they share it. */
export async function builtProgram(): Promise<BuiltProgram> {
  const entry = await cached("programs", contentKey(), async (scratch) => {
    removeOldBuilds(dirname(scratch));
    writeFileSync(join(scratch, DESCRIPTION), JSON.stringify(await buildProgram(join(scratch, "built"))));
  });
  noteUse(entry);
  const built = JSON.parse(readFileSync(join(entry, DESCRIPTION), "utf8")) as BuiltProgram;
  const directory = join(entry, "built");
  return { ...built, directory, bundle: join(directory, "deckhand.js"), executable: join(directory, "deckhand") };
}
