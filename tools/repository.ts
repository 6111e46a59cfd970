/** Describes the repository and the machine for a record, and resolves paths of the repository. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { availableParallelism, loadavg, release, totalmem } from "node:os";
import { dirname, join } from "node:path";

export const repositoryRoot = dirname(import.meta.dirname);

/** Resolves a path of the repository. Records hold relative paths, so that they mean the same on every machine. */
export const inRepository = (path: string): string => join(repositoryRoot, path);

export interface HostFacts {
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly platform: string;
  /** Load average over one minute when the run began: it shows whether the machine was busy. */
  readonly load: number;
  /** CPU time of a fixed amount of work. On shared hardware it varies by half, and all other times with it. */
  readonly fixedWorkMs?: number;
}

export function hostFacts(): HostFacts {
  return {
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    platform: `${process.platform} ${process.arch}`,
    load: loadavg()[0] ?? 0,
    fixedWorkMs: fixedWorkMs(),
  };
}

function fixedWorkMs(): number {
  const before = process.cpuUsage();
  const keys = Array.from({ length: 400_000 }, (_, index) => ({ key: (index * 7919) % 400_009 }));
  keys.sort((a, b) => a.key - b.key);
  const { user, system } = process.cpuUsage(before);
  return Math.round((user + system) / 1000);
}

export function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: repositoryRoot, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

export const currentCommit = (): string => git("rev-parse", "HEAD");

/**
 * Whether the tree differs from its commit. Ignored files do not count, nor do the proofs' reports and `reports`, which
 * are committed later.
 */
export const isDirty = (...reports: readonly string[]): boolean =>
  git("status", "--porcelain", "--", ".", ...["docs/proofs", ...reports].map((path) => `:!${path}`)) !== "";

/** Whether HEAD descends from `commit`. */
export function isAncestor(commit: string): boolean {
  try {
    git("merge-base", "--is-ancestor", commit, "HEAD");
    return true;
  } catch {
    return false;
  }
}

/** The number of commits between `commit` and HEAD; with paths, only commits that changed something under them. */
export const commitsSince = (commit: string, ...paths: readonly string[]): number =>
  Number(git("rev-list", "--count", `${commit}..HEAD`, "--", ...paths));

/** A short hash of a file's content, or undefined when there is no such file. */
export function fingerprint(path: string): string | undefined {
  try {
    return createHash("sha256")
      .update(readFileSync(inRepository(path)))
      .digest("hex")
      .slice(0, 16);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
