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
  // Clusters take the whole machine, so one file at a time. Proofs run here too, in the small size.
  integration: {
    patterns: ["test/integration/**/*.test.ts", "test/proofs/*.proof.ts"],
    concurrency: 1,
    fileLimitMs: 30 * 60_000,
  },
};

/**
 * Tests of work that is under way and has not yet held on a quiet machine. They run when they are named, and join their suite for
 * good with the work they belong to.
 */
const underWay: readonly string[] = [
  "test/integration/restart-differential.test.ts",
  "test/integration/static-pods.test.ts",
  "test/integration/survival.test.ts",
  "test/integration/switch-over.test.ts",
  "test/integration/way-of-a-pod.test.ts",
  "test/proofs/bench-way-of-a-pod.proof.ts",
  "test/proofs/static-pods.proof.ts",
  "test/proofs/survival.proof.ts",
  "test/proofs/way-of-a-pod.proof.ts",
];

/** The suite's files, sorted; with filters, those whose path contains one of them. */
export function suiteFiles(suite: Suite, root: string, filters: readonly string[]): readonly string[] {
  const files = globSync([...suite.patterns], { cwd: root }).toSorted();
  if (filters.length === 0) return files.filter((file) => !underWay.includes(file));
  return files.filter((file) => filters.some((filter) => file.includes(filter)));
}
