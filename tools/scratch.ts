/** A temporary directory for a test: a small copy of the repository to run tools in. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inRepository } from "./repository.ts";

export interface Scratch extends Disposable {
  readonly root: string;
  path(relative: string): string;
  write(relative: string, content: string): void;
  remove(relative: string): void;
  /** Copies files or directories of the repository to the same place here. */
  copy(...relatives: readonly string[]): void;
  /** Makes the repository's installed packages available here. */
  linkPackages(): void;
  git(...args: readonly string[]): void;
}

export function scratch(): Scratch {
  const root = mkdtempSync(join(tmpdir(), "deckhand-"));
  const path = (relative: string) => join(root, relative);
  return {
    root,
    path,
    write(relative, content) {
      mkdirSync(dirname(path(relative)), { recursive: true });
      writeFileSync(path(relative), content);
    },
    remove: (relative) => rmSync(path(relative)),
    copy(...relatives) {
      for (const relative of relatives) cpSync(inRepository(relative), path(relative), { recursive: true });
    },
    linkPackages: () => symlinkSync(realpathSync(inRepository("node_modules")), path("node_modules")),
    git(...args) {
      const identity = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"];
      execFileSync("git", [...identity, ...args], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

/**
 * The environment for a node:test run that is started inside a test; with NODE_TEST_CONTEXT set it would refuse to run.
 */
export function freshTestEnvironment(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _context, ...rest } = process.env;
  return rest;
}
