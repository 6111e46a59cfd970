/**
 * `npm run conformance`: upstream's own tests on nodes of Deckhand or of the Go kubelet. A whole run has two nodes and
 * updates the recorded results and pages of the repository; its report names the commit, so the tree must be clean. The
 * output of a run, its report and the evidence of its failures are in `.runs/conformance/<agent>`.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../src/base/error-text.ts";
import { inRepository, isDirty } from "../../tools/repository.ts";
import { scriptArguments } from "../../tools/script-arguments.ts";
import { interrupted } from "../cluster/interrupted.ts";
import { runConformance } from "./conformance-run.ts";
import { isNotBuilt } from "./features.ts";
import { writePages } from "./pages.ts";
import { printer } from "./printer.ts";
import { focusOf, namesUnder, passingText, raised, readNames, regressions, sections } from "./ratchet.ts";
import { markdownReport } from "./report.ts";
import { places, readReport, writeReport } from "./report-file.ts";
import { mergeReports, passed, type Report } from "./results.ts";
import { PARTS, type Part, partOf } from "./suite.ts";

const USAGE = `Usage: npm run conformance -- --agent go|deckhand [flags]

Runs upstream's own tests on nodes of Deckhand or of the Go kubelet. A whole run updates docs/conformance.md.

  --agent AGENT    the kubelet of the nodes: go or deckhand
  --focus RE       only tests whose text matches, as ginkgo's --focus
  --procs N        number of parallel tests (default 12)
  --nodes N        number of nodes (default 2; a report is kept only of 2)
  --subset         only the tests that CI runs
  --part PART      only this part, added to the last report: parallel, slow, waiting or serial; may be given again
  --rerun-failed   only those that did not pass in the last run, added to its report
  --broken         those of CI's tests that run pods, on a Deckhand that drops its writes of pods' status: all must fail

Exit codes: 0 ok, 1 failed, 2 usage error.
`;

const file = (name: keyof typeof places) => inRepository(places[name]);
const kept = { go: file("baseline"), deckhand: file("latest") } as const;
const BROKEN_AGENT = inRepository("test/conformance/broken-agent.ts");
const KEPT_NODES = 2;
const SLOW_PROCS = 8;
/** Many, because these tests only wait. */
const WAITING_PROCS = 40;

interface Wanted {
  readonly agent: "go" | "deckhand";
  readonly procs: number;
  readonly nodes: number;
  readonly focus: string | undefined;
  /** The names of the selected tests, where they are known before the run. */
  readonly names: readonly string[] | undefined;
  readonly broken: boolean;
  readonly parts: readonly Part[];
  /** Whether the result is kept, and whether it is added to the last run's report. */
  readonly kind: "whole" | "again" | "partial";
}

function wanted(argv: readonly string[]): Wanted | undefined {
  const { values } = scriptArguments(USAGE, {
    args: [...argv],
    options: {
      agent: { type: "string" },
      focus: { type: "string" },
      procs: { type: "string", default: "12" },
      nodes: { type: "string", default: String(KEPT_NODES) },
      subset: { type: "boolean", default: false },
      "rerun-failed": { type: "boolean", default: false },
      broken: { type: "boolean", default: false },
      part: { type: "string", multiple: true },
    },
  });
  const { agent, focus, subset, broken } = values;
  const parts = PARTS.filter((part) => values.part?.includes(part) ?? true);
  const again = values["rerun-failed"];
  const [procs, nodes] = [Number(values.procs), Number(values.nodes)];
  const isCount = (value: number) => Number.isSafeInteger(value) && value > 0;
  if ((agent !== "go" && agent !== "deckhand") || !isCount(procs) || !isCount(nodes)) return undefined;
  if ([focus !== undefined, subset, again, broken].filter(Boolean).length > 1) return undefined;
  if ((broken && agent === "go") || parts.length < new Set(values.part).size) return undefined;
  const common = { agent, procs, nodes, broken, parts } as const;
  const isPartial = subset || broken || focus !== undefined;
  if (!isPartial && nodes !== KEPT_NODES) return undefined;
  if (again) return { ...common, ...byName(failedBefore(agent)), kind: "again" };
  if (subset || broken) return { ...common, ...byName(subsetNames(broken)), kind: "partial" };
  if (focus !== undefined) return { ...common, focus, names: matching(focus), kind: "partial" };
  const isAdded = parts.length < PARTS.length && existsSync(lastReport(agent));
  return { ...common, focus: undefined, names: undefined, kind: isAdded ? "again" : "whole" };
}

const byName = (names: readonly string[]) => ({ focus: focusOf(names), names });

/** The tests that CI runs; only those with pods can detect a broken agent. */
function subsetNames(podsOnly: boolean): readonly string[] {
  const source = readFileSync(file("ciSubset"), "utf8");
  return podsOnly ? namesUnder(source, sections.pods) : readNames(source);
}

const failedBefore = (agent: Wanted["agent"]) =>
  readReport(lastReport(agent))
    .tests.filter((test) => !passed(test))
    .map(({ name }) => name);

/** The matching tests of the baseline; undefined if none is known to match, and every part must run. */
function matching(focus: string): readonly string[] | undefined {
  if (!existsSync(kept.go)) return undefined;
  const expression = new RegExp(focus);
  const names = readReport(kept.go).tests.map(({ name }) => name);
  const found = names.filter((name) => expression.test(name));
  return found.length === 0 ? undefined : found;
}

const directoryOf = (run: Wanted["agent"] | "broken") => inRepository(`.runs/conformance/${run}`);
const lastReport = (run: Wanted["agent"] | "broken") => join(directoryOf(run), "report.json");

/** The selected tests that, on the Go kubelet, requested features that Deckhand lacks. */
function waitingOf({ agent, names }: Wanted): ReadonlySet<string> {
  if (agent === "go" || !existsSync(kept.go)) return new Set();
  const waiting = readReport(kept.go).tests.filter(({ asks = [] }) => asks.some(isNotBuilt));
  const all = waiting.map(({ name }) => name);
  return new Set(names === undefined ? all : all.filter((name) => names.includes(name)));
}

function partsOf({ names, procs, parts }: Wanted, waiting: ReadonlySet<string>): Partial<Record<Part, number>> {
  const processes = { parallel: procs, slow: Math.min(SLOW_PROCS, procs), waiting: WAITING_PROCS, serial: 1 };
  const needed = new Set(names?.map((name) => partOf(name, waiting)) ?? PARTS);
  return Object.fromEntries(parts.filter((part) => needed.has(part)).map((part) => [part, processes[part]]));
}

async function main(argv: readonly string[]): Promise<number> {
  const want = wanted(argv);
  if (want === undefined) {
    process.stderr.write(USAGE);
    return 2;
  }
  if (want.kind !== "partial" && isDirty(...Object.values(places))) {
    process.stderr.write(
      "the tree has changes that no commit holds: commit them, the report of a whole run names a commit\n",
    );
    return 2;
  }
  const place = want.broken ? "broken" : want.agent;
  const directory = directoryOf(place);
  const before = want.kind === "again" ? readReport(lastReport(want.agent)) : undefined;
  if (before === undefined) rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const { say, sayProgress } = printer();
  const waiting = waitingOf(want);
  const { report, problems, seconds } = await runConformance({
    agent: want.agent,
    nodes: want.nodes,
    ...(want.broken ? { agentOptions: { deckhand: [process.execPath, BROKEN_AGENT] } } : {}),
    parts: partsOf(want, waiting),
    focus: want.focus,
    waiting,
    expected: new Set(want.agent === "go" || want.broken ? [] : passingNow()),
    directory,
    say,
    sayProgress,
    signal: interrupted("the run", say),
  });
  const result = before === undefined ? report : mergeReports(before, report);
  writeReport(lastReport(place), result);
  const other = kept[want.agent === "go" ? "deckhand" : "go"];
  const beside = existsSync(other) ? readReport(other) : undefined;
  writeFileSync(join(directory, "report.md"), markdownReport(result, beside));
  const count = report.tests.filter(passed).length;
  say(`${count} passed of ${report.tests.length} in ${seconds} s; see ${join(directory, "report.md")}`);
  for (const problem of problems) say(problem);
  if (problems.length > 0) return 1;
  if (want.broken) return judgeBroken(report, say);
  if (want.kind !== "partial") keep(result);
  return want.agent === "go" ? 0 : judge(result, say);
}

/** Every test of this run uses pods, so every one must have failed. */
function judgeBroken(report: Report, say: (line: string) => void): number {
  writeReport(file("broken"), report);
  writePages();
  const blind = report.tests.filter(passed).map(({ name }) => name);
  for (const test of blind) say(`passes on an agent that tells nothing: ${test}`);
  return blind.length === 0 ? 0 : 1;
}

/** Writes the files that the repository keeps of a whole run, or of one completed by another. */
function keep(report: Report): void {
  writeReport(kept[report.agent], report);
  if (report.agent === "deckhand") {
    writeFileSync(file("passing"), passingText(raised(passingNow(), report)));
  }
  if (existsSync(kept.go) && existsSync(kept.deckhand)) writePages();
}

const passingNow = () => (existsSync(file("passing")) ? readNames(readFileSync(file("passing"), "utf8")) : []);

function judge(report: Report, say: (line: string) => void): number {
  const lost = regressions(passingNow(), report);
  for (const test of lost) say(`passed before and failed now: ${test}`);
  return lost.length === 0 ? 0 : 1;
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 1;
  },
);
