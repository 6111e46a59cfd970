/**
 * Which real parts the running test file has started. The record of the run names them, and the ledger believes a test by what it started, not
 * by what it imports: `deckhand` is the composed agent in a process of its own.
 */
import { appendFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repositoryRoot } from "../tools/repository.ts";

/** Set by whoever runs test files: a directory with one file for each of them. */
const DIRECTORY = "DECKHAND_STARTED_PARTS";

export function noteStarted(part: string): void {
  const { [DIRECTORY]: directory } = process.env;
  if (directory === undefined) return;
  const [, testFile = "unknown"] = process.argv;
  appendFileSync(join(directory, encodeURIComponent(relative(repositoryRoot, testFile))), `${part}\n`);
}
