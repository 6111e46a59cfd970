/**
 * Turns node:test's events into one result per file. A file that ran no test, or that failed outside its tests, has
 * failed. It gets a test entry for the whole file, so that every failure has a name.
 */
import type { TestEvent } from "node:test/reporters";
import { parseJson } from "../shape.ts";
import { type Figure, parseFigure } from "./run-record.ts";

type Verdict =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "skipped" };

export interface TestResult {
  readonly name: string;
  /** Absolute path of the file that defines the test. */
  readonly definedIn: string;
  readonly seconds: number;
  readonly verdict: Verdict;
}

export interface FileResult {
  /** Absolute path of the file that ran. */
  readonly file: string;
  readonly seconds: number;
  readonly tests: readonly TestResult[];
  readonly figures: readonly Figure[];
  /** The file's output and node:test's diagnostics, in order of arrival. */
  readonly output: string;
}

interface OpenFile {
  readonly names: Map<number, string>;
  readonly tests: TestResult[];
  readonly figures: Figure[];
  output: string;
}

type Finished = Extract<TestEvent, { readonly type: "test:complete" }>["data"];

export class Collector {
  readonly #open = new Map<string, OpenFile>();

  /** Processes the next event; returns a file's result when that event completes the file. */
  take(event: TestEvent): FileResult | undefined {
    switch (event.type) {
      case "test:stdout":
      case "test:stderr":
        this.#file(event.data.file).output += event.data.message;
        return undefined;
      case "test:enqueue": {
        const { entryFile, testId, parentId, name } = event.data;
        if (entryFile === undefined) return undefined;
        const { names } = this.#file(entryFile);
        const parent = parentId === undefined ? undefined : names.get(parentId);
        names.set(testId, parent === undefined ? name : `${parent} > ${name}`);
        return undefined;
      }
      case "test:diagnostic": {
        const { entryFile, message } = event.data;
        if (entryFile === undefined) return undefined;
        const file = this.#file(entryFile);
        const figure = figureIn(message);
        if (figure === undefined) file.output += `${message}\n`;
        else file.figures.push(figure);
        return undefined;
      }
      case "test:complete":
        if (isWholeFile(event.data)) return this.#close(event.data);
        this.#finish(event.data.entryFile ?? event.data.name, event.data);
        return undefined;
      // oxlint-disable-next-line typescript/switch-exhaustiveness-check: the other events repeat these or concern watching.
      default:
        return undefined;
    }
  }

  /** Adds a line to the output of a running file. */
  note(file: string, line: string): void {
    this.#file(file).output += `${line}\n`;
  }

  #file(path: string): OpenFile {
    const known = this.#open.get(path);
    if (known !== undefined) return known;
    const fresh: OpenFile = { names: new Map(), tests: [], figures: [], output: "" };
    this.#open.set(path, fresh);
    return fresh;
  }

  #finish(entryFile: string, data: Finished): void {
    const file = this.#file(entryFile);
    const verdict = verdictOf(data);
    // A suite is counted by its tests, unless one of its own hooks failed.
    if (data.details.type === "suite" && (verdict.kind !== "failed" || failureType(data) === "subtestsFailed")) return;
    file.tests.push({
      name: file.names.get(data.testId) ?? data.name,
      definedIn: data.file ?? entryFile,
      seconds: data.details.duration_ms / 1000,
      verdict,
    });
  }

  #close(data: Finished): FileResult {
    const path = data.file ?? data.name;
    const { tests, figures, output } = this.#file(path);
    this.#open.delete(path);
    const seconds = data.details.duration_ms / 1000;
    const asTest = (error: unknown): TestResult => ({
      name: "the file as a whole",
      definedIn: path,
      seconds,
      verdict: { kind: "failed", error },
    });
    const noneFailed = tests.every((test) => test.verdict.kind !== "failed");
    if (!data.details.passed && (noneFailed || wasKilled(data)))
      tests.push(asTest(data.details.error?.cause ?? data.details.error));
    else if (tests.length === 0) tests.push(asTest("it holds no test"));
    return { file: path, seconds, tests, figures, output };
  }
}

/** An event without an entry file is about a file as a whole; its name is the file's path. */
export const isWholeFile = (data: { readonly entryFile?: string }): boolean => data.entryFile === undefined;

/** A killed file lost its remaining tests, whether or not a test had failed before. */
const wasKilled = ({ details: { error } }: Finished): boolean =>
  error !== undefined && "signal" in error && typeof error.signal === "string";

function verdictOf(data: Finished): Verdict {
  if (isSet(data.skip) || isSet(data.todo)) return { kind: "skipped" };
  if (data.details.passed) return { kind: "passed" };
  return { kind: "failed", error: data.details.error?.cause ?? data.details.error };
}

/** Node passes the reason as text, or true without a reason. */
const isSet = (mark: string | boolean | undefined): boolean => mark !== undefined && mark !== false;

const failureType = ({ details: { error } }: Finished): unknown =>
  error !== undefined && "failureType" in error ? error.failureType : undefined;

/** Parses a diagnostic that `test/figures.ts` sent. */
function figureIn(message: string): Figure | undefined {
  if (!message.startsWith("figure {")) return undefined;
  return parseFigure(parseJson(message.slice("figure ".length)), "figure");
}
