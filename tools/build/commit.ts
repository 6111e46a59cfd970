/**
 * Builds Deckhand from an earlier commit of this repository, with the sources, tools, packages and Node of that commit.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../repository.ts";

export interface Build {
  /** Node and its options, which precede the bundle on the command line. */
  readonly node: readonly string[];
  readonly bundle: string;
  readonly executable: string;
}

/** `tools/setup.sh` puts the commit's Node first on the PATH. Stdout holds only the description of that Node. */
const SCRIPT = `{ . tools/setup.sh && node tools/build.ts; } >&2 && node --input-type=module --eval '
  import { NODE_OPTIONS } from "./tools/build/executable.ts";
  const { version, execPath } = process;
  console.log(JSON.stringify({ version, execPath, options: NODE_OPTIONS }));
'`;

interface NodeOfCommit {
  readonly version: string;
  readonly execPath: string;
  readonly options: readonly string[];
}

/** The commit's hash. Undefined when the repository has no such commit. */
export function commitNamed(name: string, repository = repositoryRoot): string | undefined {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const { error, status, stdout } = spawnSync("git", args, { cwd: repository, encoding: "utf8" });
  if (error !== undefined) throw error;
  return status === 0 ? stdout.trim() : undefined;
}

/**
 * The files last until this process exits. The checkout comes from an archive, so the repository's list of worktrees
 * does not change. The build blocks this process: a signal takes effect after it, when no program writes to the files
 * any more.
 */
export function buildCommit(commit: string, repository = repositoryRoot): Build {
  const directory = directoryUntilExit();
  const checkout = join(directory, "checkout");
  mkdirSync(checkout);
  const archive = execFileSync("git", ["archive", commit], { cwd: repository, maxBuffer: Infinity });
  execFileSync("tar", ["--extract", "--directory", checkout], { input: archive });
  const lockIn = (root: string) => readFileSync(join(root, "package-lock.json"));
  if (lockIn(checkout).equals(lockIn(repository))) {
    // A copy, not a link: the build finds a package's license by the real path of its files, relative to the checkout.
    const packages = realpathSync(join(repository, "node_modules"));
    cpSync(packages, join(checkout, "node_modules"), { recursive: true, verbatimSymlinks: true });
  }
  const description = execFileSync("bash", ["-c", SCRIPT], {
    cwd: checkout,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const program = join(directory, "program");
  renameSync(join(checkout, "dist"), program);
  const node = nodeFor(JSON.parse(description) as NodeOfCommit, join(program, "node"));
  rmSync(checkout, { recursive: true });
  return { node, bundle: join(program, "deckhand.js"), executable: join(program, "deckhand") };
}

/**
 * The same release must be the same file: processes that run one file share its memory, which their PSS shows. Another
 * release is copied, because it may be a package of the checkout.
 */
function nodeFor({ version, execPath, options }: NodeOfCommit, copy: string): readonly string[] {
  if (version === process.version) return [process.execPath, ...options];
  copyFileSync(execPath, copy);
  return [copy, ...options];
}

function directoryUntilExit(): string {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    // Without a listener, a signal ends the process without an "exit" event.
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
  const directory = mkdtempSync(join(tmpdir(), "deckhand-before-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
