/** Which files belong to which suite. */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";

export const suiteNames = ["unit", "integration"] as const;
export type SuiteName = (typeof suiteNames)[number];

export interface Suite {
  readonly patterns: readonly string[];
  /** How many files run at once. */
  readonly concurrency: number;
  /** A file that takes longer is killed and has failed. */
  readonly fileLimitMs: number;
}

export const suites: Readonly<Record<SuiteName, Suite>> = {
  unit: {
    patterns: ["src", "sim", "tools", "test/cluster", "test/contract"].map((folder) => `${folder}/**/*.test.ts`),
    concurrency: availableParallelism(),
    fileLimitMs: 2 * 60_000,
  },
  // Two clusters fill a small machine: tests mostly wait, and none may count on having it for itself. Proofs run here too, in the small size.
  integration: {
    patterns: ["test/integration/**/*.test.ts", "test/proofs/*.proof.ts"],
    concurrency: 2,
    fileLimitMs: 30 * 60_000,
  },
};

/** The suite's files, sorted; with filters, those whose path contains one of them. */
export function suiteFiles(suite: Suite, root: string, filters: readonly string[]): readonly string[] {
  const files = globSync([...suite.patterns], { cwd: root }).toSorted();
  if (filters.length === 0) return files;
  return files.filter((file) => filters.some((filter) => file.includes(filter)));
}
