/** How far a run is, read from what ginkgo prints: how many tests it will run, and two lines for each that has ended. */

export interface Ended {
  readonly test: string;
  readonly passed: boolean;
}

const WILL_RUN = /^Will run (?<count>\d+) of \d+ specs$/;
const MARK = /^• (?:\[(?<trouble>[A-Z]+)!?\] )?\[[\d.]+ seconds\]/;
/** The kind of step that failed stands within the name, all its labels after it. */
const STEP = / \[(?:It|BeforeEach|JustBeforeEach|AfterEach|JustAfterEach|DeferCleanup \(Each\))\]/;
const LABELS = / \[sig-[^[\]]*\]$/;

const SEPARATOR = /^-{30}$/;
const NAME = /^\[sig-/;

/** The output of one ginkgo, line by line. With several processes a test's name follows its mark, with one it may stand before all it says. */
class GinkgoOutput {
  total = 0;
  #mark: boolean | undefined;
  #isFirst = false;
  #header = "";

  /** Answers with the test that the line is the end of. */
  note(line: string): Ended | undefined {
    const passed = this.#mark;
    this.#mark = undefined;
    if (this.#isFirst && NAME.test(line)) this.#header = line;
    this.#isFirst = SEPARATOR.test(line);
    if (passed !== undefined) return { test: testOf(NAME.test(line) ? line : this.#header), passed };
    const mark = MARK.exec(line);
    if (mark !== null) this.#mark = mark.groups?.["trouble"] === undefined;
    this.total = Number(WILL_RUN.exec(line)?.groups?.["count"] ?? this.total);
    return undefined;
  }
}

const testOf = (line: string): string => line.replace(STEP, "").replace(LABELS, "");

export class Progress {
  readonly #outputs = new Map<string, GinkgoOutput>();
  readonly #ended = new Map<string, boolean>();

  /** A line that the ginkgo of this name has printed. */
  note(ginkgo: string, line: string): Ended | undefined {
    const output = this.#outputs.get(ginkgo) ?? new GinkgoOutput();
    this.#outputs.set(ginkgo, output);
    const ended = output.note(line);
    if (ended !== undefined) this.#ended.set(ended.test, ended.passed);
    return ended;
  }

  /** Of all tests that have begun, those that have not ended are named. */
  line(begun: readonly string[]): string {
    const done = this.#ended.size;
    const failed = [...this.#ended.values()].filter((passed) => !passed).length;
    const total = [...this.#outputs.values()].reduce((sum, output) => sum + output.total, 0);
    const running = begun.filter((test) => !this.#ended.has(test)).map(shortName);
    return `${done} done, ${failed} failed, ${Math.max(0, total - done)} left; running: ${running.join("; ") || "none"}`;
  }
}

const SHORT = 60;

/** Without its tags. */
const shortName = (test: string): string => {
  const name = test.replaceAll(/ ?\[[^\]]*\]/g, "").trim();
  return name.length <= SHORT ? name : `${name.slice(0, SHORT - 1)}…`;
};
