/** Finds the recorded result of a row's proof: the last run that contains its tests decides. */
import type { RunRecord, TestRecord } from "../testing/run-record.ts";
import { ranOnRealParts } from "./real-parts.ts";

type Proof =
  | { readonly kind: "unknown" }
  | {
      readonly kind: "failed";
      readonly isOnRealParts: boolean;
      readonly suite: string;
      /** Titles of the tests that did not pass. */
      readonly failed: readonly string[];
    }
  | {
      readonly kind: "passed";
      readonly isOnRealParts: boolean;
      readonly suite: string;
      readonly tests: number;
      readonly stale: readonly string[];
    };

/** A hash of the file's current content, or undefined when the file no longer exists. */
export type Fingerprint = (file: string) => string | undefined;

/**
 * `proof` is a test file, which stands for its tests whose titles name the row's ID, or `upstream:<title>`. A test
 * belongs to the file that ran and to the file that defines it.
 */
export type FindProof = (proof: string, id: string) => Proof;

/** Upstream's own tests name no row: they are identified by their titles. */
export const isUpstream = (proof: string): boolean => proof.startsWith("upstream:");

export function proofFinder(runs: readonly RunRecord[], fingerprint: Fingerprint): FindProof {
  const last = new Map<string, { readonly run: RunRecord; readonly tests: readonly TestRecord[] }>();
  for (const run of inOrder(runs)) {
    const keyed = run.tests.flatMap((test) => keysOf(test).map((key) => ({ key, test })));
    for (const [key, ofKey] of Map.groupBy(keyed, ({ key }) => key)) {
      last.set(key, { run, tests: ofKey.map(({ test }) => test) });
    }
  }
  return (proof, id) => {
    const found = last.get(isUpstream(proof) ? proof : keyOf(proof, id));
    if (found === undefined) return { kind: "unknown" };
    const { run, tests } = found;
    const failed = tests.filter((test) => !test.passed).map((test) => test.name);
    const isOnRealParts = tests.some(({ file }) => ranOnRealParts(run, file));
    if (failed.length > 0) return { kind: "failed", isOnRealParts, suite: run.suite, failed };
    const stale = changedFiles(run, tests, fingerprint);
    return { kind: "passed", isOnRealParts, suite: run.suite, tests: tests.length, stale };
  };
}

const keyOf = (file: string, id: string): string => `${file} [${id}]`;

function keysOf(test: TestRecord): readonly string[] {
  if (isUpstream(test.name)) return [test.name];
  const ids = new Set(idsIn(test.name));
  return filesOf(test).flatMap((file) => [...ids].map((id) => keyOf(file, id)));
}

const filesOf = ({ file, definedIn }: TestRecord): readonly string[] =>
  definedIn === undefined ? [file] : [file, definedIn];

const inOrder = (runs: readonly RunRecord[]): readonly RunRecord[] =>
  runs.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));

/** The files of these tests whose content has changed since the run. */
export function changedFiles(
  run: RunRecord,
  tests: readonly TestRecord[],
  fingerprint: Fingerprint,
): readonly string[] {
  const files = new Set(tests.flatMap(filesOf));
  return [...files].filter((file) => fingerprint(file) !== run.files[file]);
}

/** The IDs that a title names in brackets. */
export const idsIn = (title: string): readonly string[] =>
  [...title.matchAll(/\[(\d+(?:\.\d+)+)\]/g)].flatMap(([, id]) => (id === undefined ? [] : [id]));
