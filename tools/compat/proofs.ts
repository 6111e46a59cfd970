/** What the recorded runs say about a test: the last run that held it decides. */
import type { RunRecord, TestRecord } from "../testing/run-record.ts";

type Proof =
  | { readonly kind: "unknown" }
  | { readonly kind: "failed"; readonly ranFrom: readonly string[]; readonly suite: string }
  | { readonly kind: "passed"; readonly ranFrom: readonly string[]; readonly stale: readonly string[] };

/** Content of a file now, or undefined when it is gone. */
export type Fingerprint = (file: string) => string | undefined;

export type FindProof = (title: string) => Proof;

export function proofFinder(runs: readonly RunRecord[], fingerprint: Fingerprint): FindProof {
  const last = new Map<string, { readonly run: RunRecord; readonly tests: readonly TestRecord[] }>();
  for (const run of inOrder(runs)) {
    const ofRun = Map.groupBy(run.tests, (test) => test.name);
    for (const [name, tests] of ofRun) last.set(name, { run, tests });
  }
  return (title) => {
    const found = last.get(title);
    if (found === undefined) return { kind: "unknown" };
    const { run, tests } = found;
    // Two tests of one title: the proof is both.
    const ranFrom = tests.map((test) => test.file);
    if (!tests.every((test) => test.passed)) return { kind: "failed", ranFrom, suite: run.suite };
    return { kind: "passed", ranFrom, stale: changedFiles(run, tests, fingerprint) };
  };
}

const inOrder = (runs: readonly RunRecord[]): readonly RunRecord[] =>
  runs.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));

/** The files of these tests whose content is not what ran. */
export function changedFiles(
  run: RunRecord,
  tests: readonly TestRecord[],
  fingerprint: Fingerprint,
): readonly string[] {
  const files = new Set(tests.flatMap(({ file, definedIn }) => (definedIn === undefined ? [file] : [file, definedIn])));
  return [...files].filter((file) => fingerprint(file) !== run.files[file]);
}

/** The ids a title names in brackets. */
export const idsIn = (title: string): readonly string[] =>
  [...title.matchAll(/\[(\d+(?:\.\d+)+)\]/g)].flatMap(([, id]) => (id === undefined ? [] : [id]));
