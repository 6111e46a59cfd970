/**
 * The record of a test run: which tests ran, on which commit, and whether they passed. `npm test` writes one per suite
 * to `.runs/`, a proof writes one to `docs/proofs/`; the compatibility ledger reads both.
 */
import type { HostFacts } from "../repository.ts";
import { boolean, fields, list, number, optional, parseJson, record, text } from "../shape.ts";

export interface TestRecord {
  /** The titles from the outermost suite to the test, joined by " > ". */
  readonly name: string;
  /** The file that ran, relative to the repository. */
  readonly file: string;
  /** The file that defines the test, if different: a contract suite runs from several files. */
  readonly definedIn?: string;
  readonly passed: boolean;
  /** The test did not run, on purpose or because it is not written; it does not count as passed. */
  readonly skipped?: true;
  readonly seconds: number;
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function countTests(tests: readonly TestRecord[]): Counts {
  const passed = tests.filter((test) => test.passed).length;
  const skipped = tests.filter((test) => test.skipped === true).length;
  return { passed, skipped, failed: tests.length - passed - skipped };
}

/** A skipped test counts as a failure: it proves nothing but looks as if it did. So does a run without tests. */
export const succeeded = ({ passed, failed, skipped }: Counts): boolean => passed > 0 && failed === 0 && skipped === 0;

export const countsLine = ({ passed, failed, skipped }: Counts): string =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`;

export interface Figure {
  readonly test: string;
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

export interface RunRecord {
  readonly suite: string;
  readonly commit: string;
  /** The tree differed from the commit. */
  readonly dirty: boolean;
  readonly startedAt: string;
  readonly node: string;
  readonly host: HostFacts;
  readonly seconds: number;
  /** Maps a test file to the hash of its content when it ran: a proof is stale when the file has changed since. */
  readonly files: Readonly<Record<string, string>>;
  /** Maps a test file to the seconds its process ran, hooks included. Reports of earlier commits lack it. */
  readonly fileSeconds?: Readonly<Record<string, number>>;
  /** Maps a test file to the real parts that it started. Reports of earlier commits lack it. */
  readonly startedParts?: Readonly<Record<string, readonly string[]>>;
  /** Tests that failed and passed when their file ran a second time. */
  readonly secondTries?: readonly string[];
  readonly tests: readonly TestRecord[];
  readonly figures: readonly Figure[];
}

/** A partial run is merged into the record of the same commit: files that ran again are replaced, the rest stays. */
export function mergeRuns(earlier: RunRecord | undefined, part: RunRecord): RunRecord {
  if (earlier === undefined || earlier.commit !== part.commit || earlier.suite !== part.suite) return part;
  return replaceFiles(earlier, part);
}

/** Returns the earlier run, with the results of the files that ran in `part` replaced. */
export function replaceFiles<Run extends RunRecord>(earlier: RunRecord, part: Run): Run {
  const ranAgain = new Set(part.tests.map((test) => test.file));
  const kept = earlier.tests.filter((test) => !ranAgain.has(test.file));
  const keptNames = new Set(kept.map((test) => test.name));
  return {
    ...part,
    dirty: earlier.dirty || part.dirty,
    seconds: earlier.seconds + part.seconds,
    files: { ...earlier.files, ...part.files },
    fileSeconds: { ...earlier.fileSeconds, ...part.fileSeconds },
    startedParts: { ...earlier.startedParts, ...part.startedParts },
    tests: [...kept, ...part.tests],
    figures: [...earlier.figures.filter((figure) => keptNames.has(figure.test)), ...part.figures],
  };
}

/** Parses a record; `where` names its file in error messages. */
export function parseRun(source: string, where: string): RunRecord {
  const run = fields(parseJson(source), where);
  const fileSeconds = optional(run["fileSeconds"], `${where}: fileSeconds`, (value, at) => record(value, at, number));
  const secondTries = optional(run["secondTries"], `${where}: secondTries`, (value, at) => list(value, at, text));
  const startedParts = optional(run["startedParts"], `${where}: startedParts`, (value, at) =>
    record(value, at, (parts, of) => list(parts, of, text)),
  );
  return {
    suite: text(run["suite"], `${where}: suite`),
    commit: text(run["commit"], `${where}: commit`),
    dirty: boolean(run["dirty"], `${where}: dirty`),
    startedAt: text(run["startedAt"], `${where}: startedAt`),
    node: text(run["node"], `${where}: node`),
    host: parseHost(run["host"], `${where}: host`),
    seconds: number(run["seconds"], `${where}: seconds`),
    files: record(run["files"], `${where}: files`, text),
    ...(fileSeconds === undefined ? {} : { fileSeconds }),
    ...(startedParts === undefined ? {} : { startedParts }),
    ...(secondTries === undefined ? {} : { secondTries }),
    tests: list(run["tests"], `${where}: tests`, parseTest),
    figures: list(run["figures"], `${where}: figures`, parseFigure),
  };
}

function parseHost(value: unknown, where: string): HostFacts {
  const host = fields(value, where);
  const fixedWorkMs = optional(host["fixedWorkMs"], `${where}.fixedWorkMs`, number);
  return {
    cores: number(host["cores"], `${where}.cores`),
    memoryGiB: number(host["memoryGiB"], `${where}.memoryGiB`),
    kernel: text(host["kernel"], `${where}.kernel`),
    platform: text(host["platform"], `${where}.platform`),
    load: number(host["load"], `${where}.load`),
    ...(fixedWorkMs === undefined ? {} : { fixedWorkMs }),
  };
}

function parseTest(value: unknown, where: string): TestRecord {
  const test = fields(value, where);
  const definedIn = optional(test["definedIn"], `${where}.definedIn`, text);
  const skipped = optional(test["skipped"], `${where}.skipped`, boolean) === true;
  return {
    name: text(test["name"], `${where}.name`),
    file: text(test["file"], `${where}.file`),
    ...(definedIn === undefined ? {} : { definedIn }),
    passed: boolean(test["passed"], `${where}.passed`),
    ...(skipped ? { skipped } : {}),
    seconds: number(test["seconds"], `${where}.seconds`),
  };
}

export function parseFigure(value: unknown, where: string): Figure {
  const figure = fields(value, where);
  return {
    test: text(figure["test"], `${where}.test`),
    name: text(figure["name"], `${where}.name`),
    value: number(figure["value"], `${where}.value`),
    unit: text(figure["unit"], `${where}.unit`),
  };
}
