/**
 * Progress of a run, read from ginkgo's output: the number of tests it will run, and two lines for each test that has
 * ended.
 */

export interface Ended {
  readonly test: string;
  readonly passed: boolean;
}

const WILL_RUN = /^Will run (?<count>\d+) of \d+ specs$/;
const MARK = /^• (?:\[(?<trouble>[A-Z]+)!?\] )?\[[\d.]+ seconds\]/;
/** ginkgo writes the kind of the step that failed within the name, and all labels after the name. */
const STEP = / \[(?:It|BeforeEach|JustBeforeEach|AfterEach|JustAfterEach|DeferCleanup \(Each\))\]/;
const LABELS = / \[sig-[^[\]]*\]$/;

const SEPARATOR = /^-{30}$/;
const NAME = /^\[sig-/;

/**
 * Parses the output of one ginkgo, line by line. With several processes a test's name follows its mark; with one
 * process the name may precede the test's output.
 */
class GinkgoOutput {
  total = 0;
  #mark: boolean | undefined;
  #isFirst = false;
  #header = "";

  /** Returns the test that ends with this line. */
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

  /** Reads a line that the ginkgo of this name has printed. */
  note(ginkgo: string, line: string): Ended | undefined {
    const output = this.#outputs.get(ginkgo) ?? new GinkgoOutput();
    this.#outputs.set(ginkgo, output);
    const ended = output.note(line);
    if (ended !== undefined) this.#ended.set(ended.test, ended.passed);
    return ended;
  }

  /** One line that counts tests and, where it is known which have begun, names those that have not ended. */
  line(begun?: readonly string[]): string {
    const done = this.#ended.size;
    const failed = [...this.#ended.values()].filter((passed) => !passed).length;
    const total = [...this.#outputs.values()].reduce((sum, output) => sum + output.total, 0);
    const counts = `${done} done, ${failed} failed, ${Math.max(0, total - done)} left`;
    if (begun === undefined) return counts;
    const running = begun.filter((test) => !this.#ended.has(test)).map(shortName);
    return `${counts}; running: ${running.join("; ") || "none"}`;
  }
}

const SHORT = 60;

/** The test's name without its tags, shortened. */
const shortName = (test: string): string => {
  const name = test.replaceAll(/ ?\[[^\]]*\]/g, "").trim();
  return name.length <= SHORT ? name : `${name.slice(0, SHORT - 1)}…`;
};
