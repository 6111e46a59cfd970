/**
 * Records which real parts the running test file has started. The record of the run names them, and the ledger judges a
 * test by the parts it started, not by its imports. `deckhand` is the composed agent in its own process.
 */
import { appendFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repositoryRoot } from "../tools/repository.ts";

/** Set by the test runner: a directory with one file per test file. */
const DIRECTORY = "DECKHAND_STARTED_PARTS";

export function noteStarted(part: string): void {
  const { [DIRECTORY]: directory } = process.env;
  if (directory === undefined) return;
  const [, testFile = "unknown"] = process.argv;
  appendFileSync(join(directory, encodeURIComponent(relative(repositoryRoot, testFile))), `${part}\n`);
}
