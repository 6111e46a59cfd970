/** Reads inputs and outputs recorded from the Go implementation. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const DIRECTORY = join(import.meta.dirname, "..", "golden");

export const goldenJson = (name: string): unknown => JSON.parse(readFileSync(join(DIRECTORY, name), "utf8"));

/** One record per line. */
export const goldenLines = (name: string): readonly unknown[] =>
  readFileSync(join(DIRECTORY, name), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
