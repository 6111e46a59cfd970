/**
 * The outcomes of upstream's tests, read from ginkgo's own report.
 *
 * A test that was not selected is not in the results. A test that was selected and then skipped itself counts as
 * failed: it has proved nothing, and a list that silently grew shorter would look like progress.
 */
import { isDeepStrictEqual } from "node:util";
import { type Fields, fields, list, number, optional, text } from "../../tools/shape.ts";

export interface TestOutcome {
  /** Ginkgo's full text: "[sig-node] Pods should be updated [NodeConformance] [Conformance]". */
  readonly name: string;
  /** How often the test passed, in this run or these runs. */
  readonly passes: number;
  readonly fails: number;
  /** Duration in the last run. */
  readonly seconds: number;
  /** First lines of the last failure's message. */
  readonly failure?: string;
  /** Features that Deckhand lacks and that the test's pods request, whichever agent ran them. */
  readonly asks?: readonly string[];
  /**
   * Features that the agent lacks and that the test's pods requested, from the agent's rejections. Absent if the test
   * failed for another reason.
   */
  readonly waitsFor?: readonly string[];
}

/** The sources and the cluster of a run. */
export interface RunEnvironment {
  /** The repository's commit: Deckhand's sources, and the cluster that either agent runs in. */
  readonly commit: string;
  /** "linux/amd64". */
  readonly platform: string;
  readonly cgroupVersion: "v1" | "v2";
  /** As the nodes' /configz reports it. */
  readonly cgroupDriver: string;
  readonly nodes: number;
}

export interface Report {
  readonly agent: "go" | "deckhand";
  /** Absent in reports of one node that are older than this field. */
  readonly environment?: RunEnvironment;
  /** YYYY-MM-DD, of the last run. */
  readonly date: string;
  readonly runs: number;
  /** The versions of Kubernetes, of the runtime and of the node's other components. */
  readonly versions: Readonly<Record<string, string>>;
  /** By part of the first run: parallel, slow, serial, whole. */
  readonly wallSeconds: Readonly<Record<string, number>>;
  /** Sorted by name. */
  readonly tests: readonly TestOutcome[];
}

const FAILURE_LINES_MAX = 4;
const FAILURE_LINE_CHARACTERS_MAX = 240;
const NANOSECONDS_PER_TENTH = 1e8;

const failedStates: ReadonlySet<string> = new Set(["failed", "panicked", "timedout", "interrupted", "aborted"]);
const unselectedStates: ReadonlySet<string> = new Set(["skipped", "pending"]);

/** Whether it passed at least once. */
export const passed = ({ passes }: TestOutcome): boolean => passes > 0;

/** Whether it both passed and failed. */
export const isFlaky = ({ passes, fails }: TestOutcome): boolean => passes > 0 && fails > 0;

/** "sig-node" of "[sig-node] Pods should ...". */
export const sigOf = (name: string): string => /^\[(sig-[a-z-]+)\]/.exec(name)?.[1] ?? "no SIG";

/** From the file that ginkgo v2 writes for `--json-report`, sorted by name. */
export function readGinkgoReport(json: unknown): readonly TestOutcome[] {
  return sortedByName(specsOf(json).flatMap((spec) => outcomeOf(spec) ?? []));
}

/** A test of ginkgo's report, whether or not it ran. */
export interface ReportedTest {
  readonly name: string;
  readonly labels: readonly string[];
  /** In upstream's directory of tests: "e2e_node/log_path_test.go". */
  readonly file: string;
  /** The steps that the test named, and what it wrote while it ran. */
  readonly output: string;
}

export const readReportedTests = (json: unknown): readonly ReportedTest[] =>
  specsOf(json)
    .filter(isTest)
    .map((spec) => ({
      name: nameOf(spec),
      labels: [
        ...listOrNull(spec["ContainerHierarchyLabels"], "ContainerHierarchyLabels", labelsOf).flat(),
        ...labelsOf(spec["LeafNodeLabels"], "LeafNodeLabels"),
      ],
      file: fileOf(spec),
      output: outputOf(spec),
    }));

function outputOf(spec: Fields): string {
  const steps = listOrNull(spec["SpecEvents"], "SpecEvents", fields).filter((event) => event["SpecEventType"] === "By");
  const messages = steps.map((event) => `STEP: ${optional(event["Message"], "SpecEvents.Message", text) ?? ""}`);
  const written = optional(spec["CapturedGinkgoWriterOutput"], "CapturedGinkgoWriterOutput", text) ?? "";
  return [...messages, written].join("\n");
}

function fileOf(spec: Fields): string {
  const { FileName: path } = fields(spec["LeafNodeLocation"], "LeafNodeLocation");
  return /\/test\/(.*)$/.exec(text(path, "LeafNodeLocation.FileName"))?.[1] ?? "";
}

const labelsOf = (value: unknown, where: string): readonly string[] => listOrNull(value, where, text);

/** Problems of the run itself. Without them, an aborted run would look like one of fewer tests. */
export function suiteProblems(json: unknown): readonly string[] {
  return list(json, "report", suiteFields).flatMap((suite) => {
    const reasons = listOrNull(suite["SpecialSuiteFailureReasons"], "SpecialSuiteFailureReasons", text);
    const broken = suiteSpecs(suite).filter((spec) => !isTest(spec) && failedStates.has(stateOf(spec)));
    const stats = fields(suite["PreRunStats"], "PreRunStats");
    const selected = number(stats["SpecsThatWillRun"], "PreRunStats.SpecsThatWillRun");
    const ran = suiteSpecs(suite).filter((spec) => outcomeOf(spec) !== undefined).length;
    return [
      ...reasons,
      ...broken.map((spec) => `${text(spec["LeafNodeType"], "LeafNodeType")}: ${failureOf(spec) ?? stateOf(spec)}`),
      ...(ran === selected ? [] : [`${ran} of the ${selected} selected tests ran`]),
    ];
  });
}

/** Adds a run to the report of earlier runs, which must be of the same agent, versions and environment. */
export function mergeReports(older: Report, newer: Report): Report {
  if (older.agent !== newer.agent) throw new Error(`a report of ${newer.agent} is not one of ${older.agent}`);
  for (const what of ["versions", "environment"] as const) {
    const [before, now] = [older[what], newer[what]];
    if (isDeepStrictEqual(before, now)) continue;
    throw new Error(
      `runs with different ${what} cannot be added: ${JSON.stringify(before)} and ${JSON.stringify(now)}`,
    );
  }
  return {
    ...newer,
    runs: older.runs + newer.runs,
    // A rerun of a few tests does not show how long all of them take.
    wallSeconds: { ...newer.wallSeconds, ...older.wallSeconds },
    tests: mergeOutcomes(older.tests, newer.tests),
  };
}

/** Every test of either, sorted by name; also for the parts of one run. */
export function mergeOutcomes(older: readonly TestOutcome[], newer: readonly TestOutcome[]): readonly TestOutcome[] {
  const byName = new Map(older.map((test) => [test.name, test]));
  for (const test of newer) {
    const before = byName.get(test.name);
    byName.set(test.name, before === undefined ? test : mergeOutcome(before, test));
  }
  return sortedByName([...byName.values()]);
}

function mergeOutcome(older: TestOutcome, newer: TestOutcome): TestOutcome {
  const { waitsFor, asks = older.asks, ...rest } = newer;
  const failure = newer.failure ?? older.failure;
  return {
    ...rest,
    passes: older.passes + newer.passes,
    fails: older.fails + newer.fails,
    ...(failure === undefined ? {} : { failure }),
    ...(asks === undefined ? {} : { asks }),
    ...(waitsFor === undefined ? {} : { waitsFor }),
  };
}

const sortedByName = (tests: readonly TestOutcome[]): readonly TestOutcome[] =>
  tests.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));

function outcomeOf(spec: Fields): TestOutcome | undefined {
  if (!isTest(spec)) return undefined;
  const [state, failure] = [stateOf(spec), failureOf(spec)];
  const ran = {
    name: nameOf(spec),
    seconds: Math.round(number(spec["RunTime"], "RunTime") / NANOSECONDS_PER_TENTH) / 10,
  };
  if (state === "passed") return { ...ran, passes: 1, fails: 0 };
  if (failedStates.has(state)) return { ...ran, passes: 0, fails: 1, failure: failure ?? state };
  if (!unselectedStates.has(state)) throw new Error(`ginkgo's state "${state}" of ${ran.name} is not known`);
  // Only a test that skipped itself while it ran has a message.
  return failure === undefined ? undefined : { ...ran, passes: 0, fails: 1, failure: `it left itself out: ${failure}` };
}

const specsOf = (json: unknown): readonly Fields[] => list(json, "report", suiteFields).flatMap(suiteSpecs);
const suiteFields = (value: unknown, where: string): Fields => fields(value, where);
const suiteSpecs = (suite: Fields): readonly Fields[] => listOrNull(suite["SpecReports"], "SpecReports", fields);
const isTest = (spec: Fields): boolean => spec["LeafNodeType"] === "It";
const stateOf = (spec: Fields): string => text(spec["State"], "State");

/** As ginkgo's own FullText joins them: empty texts leave no space. */
function nameOf(spec: Fields): string {
  const containers = listOrNull(spec["ContainerHierarchyTexts"], "ContainerHierarchyTexts", text);
  return [...containers, text(spec["LeafNodeText"], "LeafNodeText")].filter((part) => part !== "").join(" ");
}

function failureOf(spec: Fields): string | undefined {
  const failure = optional(spec["Failure"], "Failure", fields);
  if (failure === undefined) return undefined;
  const panic = optional(failure["ForwardedPanic"], "Failure.ForwardedPanic", text) ?? "";
  const message = [text(failure["Message"], "Failure.Message"), panic].join("\n");
  const lines = message.split("\n").map((line) => withoutPlaces(line).trim());
  const reported = lines.filter((line) => line !== "").slice(0, FAILURE_LINES_MAX);
  return [...reported.map((line) => line.slice(0, FAILURE_LINE_CHARACTERS_MAX)), ...placeOf(failure)].join("\n");
}

/** The place in upstream's source, without the machine's path to it. */
function placeOf(failure: Fields): readonly string[] {
  const location = optional(failure["Location"], "Failure.Location", fields) ?? {};
  const [, file] = /\/(test\/e2e\/.*)$/.exec(optional(location["FileName"], "FileName", text) ?? "") ?? [];
  return file === undefined ? [] : [`(${file}:${number(location["LineNumber"], "LineNumber")})`];
}

/** Removes the machine's paths of kubectl and its kubeconfig. */
const withoutPlaces = (line: string): string =>
  line.replaceAll(/\/\S*\/kubectl\b/g, "kubectl").replaceAll(/ --kubeconfig=\S+/g, "");

/** Go writes an empty list as null. */
const listOrNull = <T>(value: unknown, where: string, item: (value: unknown, where: string) => T): readonly T[] =>
  value === null || value === undefined ? [] : list(value, where, item);
