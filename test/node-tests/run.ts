/**
 * `npm run node-tests`: upstream's node tests against Deckhand or the Go kubelet. A run of a whole list updates its
 * recorded results and docs/node-tests.md; its report names the commit, so the tree must be clean. The output of a run,
 * its report and the evidence of its failures are in `.runs/node-tests/<agent>/<list>`.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { errorText } from "../../src/base/error-text.ts";
import { inRepository, isDirty, repositoryRoot } from "../../tools/repository.ts";
import { scriptArguments } from "../../tools/script-arguments.ts";
import { interrupted } from "../cluster/interrupted.ts";
import { printer } from "../conformance/printer.ts";
import { passingText, raised, readNames, regressions } from "../conformance/ratchet.ts";
import { markdownReport } from "../conformance/report.ts";
import { writeReport } from "../conformance/report-file.ts";
import { passed, type Report } from "../conformance/results.ts";
import { flagsOf, type ListName, listNames, testsOf } from "./lists.ts";
import { nodeTestParts, runNodeTests } from "./node-run.ts";
import { writePage } from "./pages.ts";
import { places, readCannotRun, readTree, resultFile } from "./places.ts";
import { notRun, select } from "./selection.ts";
import { type TreeTest, treeText, upstreamTree } from "./tree.ts";

const USAGE = `Usage: npm run node-tests -- --agent go|deckhand [--list NAME] [--focus RE | --subset] [--procs N]
       npm run node-tests -- --lists | --write-tree

Runs upstream's node tests (test/e2e_node) against one kubelet, in an isolated node. A run of a whole list
updates docs/node-tests.md.

  --agent AGENT   the kubelet: go or deckhand
  --list NAME     only the tests of this list
  --focus RE      only tests whose name matches, of the list if one is given; the result is not kept
  --subset        only the tests that CI runs; the result is not kept
  --procs N       how many tests run at once, apart from serial ones (default 6)
  --lists         prints the lists with the numbers of their tests
  --write-tree    writes the tree of tests from upstream's program

Exit codes: 0 ok, 1 failed, 2 usage error.
`;

interface Wanted {
  readonly agent: "go" | "deckhand";
  readonly procs: number;
  /** Of the run's directory. */
  readonly name: string;
  readonly tests: readonly TreeTest[];
  readonly flags: readonly string[];
  /** The list whose results are kept. */
  readonly kept: ListName | undefined;
}

type Task = Wanted | "lists" | "tree";

function task(argv: readonly string[]): Task | undefined {
  const { values } = scriptArguments(USAGE, {
    args: [...argv],
    options: {
      agent: { type: "string" },
      list: { type: "string" },
      focus: { type: "string" },
      subset: { type: "boolean", default: false },
      procs: { type: "string", default: "6" },
      lists: { type: "boolean", default: false },
      "write-tree": { type: "boolean", default: false },
    },
  });
  if (values.lists) return "lists";
  if (values["write-tree"]) return "tree";
  const { agent, focus, subset } = values;
  const list = listNames.find((name) => name === values.list);
  const procs = Number(values.procs);
  if ((agent !== "go" && agent !== "deckhand") || !Number.isSafeInteger(procs) || procs < 1) return undefined;
  if (list === undefined && values.list !== undefined) return undefined;
  if (subset ? focus !== undefined || list !== undefined : focus === undefined && list === undefined) return undefined;
  const tree = readTree(repositoryRoot);
  const among = list === undefined ? tree : testsOf(list, tree);
  const common = { agent, procs, flags: flagsOf(list) } as const;
  if (subset) return { ...common, name: "subset", tests: subsetOf(tree), kept: undefined };
  if (focus === undefined) return { ...common, name: list ?? "", tests: among, kept: list };
  const expression = new RegExp(focus);
  return { ...common, name: "focus", tests: among.filter(({ name }) => expression.test(name)), kept: undefined };
}

function subsetOf(tree: readonly TreeTest[]): readonly TreeTest[] {
  const names = new Set(readNames(readFileSync(inRepository(places.ciSubset), "utf8")));
  return tree.filter(({ name }) => names.has(name));
}

const passingNow = () =>
  existsSync(inRepository(places.passing)) ? readNames(readFileSync(inRepository(places.passing), "utf8")) : [];

async function main(argv: readonly string[]): Promise<number> {
  const wanted = task(argv);
  if (wanted === undefined) {
    process.stderr.write(USAGE);
    return 2;
  }
  if (wanted === "lists") return printLists();
  if (wanted === "tree") return writeTree();
  if (wanted.kept !== undefined && isDirty(places.results, places.passing, places.page)) {
    process.stderr.write(
      "the tree has changes that no commit holds: commit them, the report of a list names a commit\n",
    );
    return 2;
  }
  return run(wanted);
}

function printLists(): number {
  const tree = readTree(repositoryRoot);
  const cannotRun = readCannotRun(repositoryRoot);
  for (const list of listNames) {
    const all = testsOf(list, tree);
    const { excluded } = select(all, cannotRun);
    process.stdout.write(`${list}: ${all.length} tests, ${excluded.length} of them cannot run here\n`);
  }
  return 0;
}

async function writeTree(): Promise<number> {
  const { say } = printer();
  const tree = await upstreamTree(await nodeTestParts(say));
  writeFileSync(inRepository(places.tree), treeText(tree));
  say(`${tree.length} tests`);
  return 0;
}

async function run(wanted: Wanted): Promise<number> {
  const { say, sayProgress } = printer();
  const parts = await nodeTestParts(say);
  // Elsewhere a test that the program no longer has is one that did not run.
  if (wanted.kept !== undefined && treeText(await upstreamTree(parts)) !== treeText(readTree(repositoryRoot))) {
    say(`${places.tree} is not the tree of upstream's program: run npm run node-tests -- --write-tree`);
    return 1;
  }
  const { tests, excluded } = select(wanted.tests, readCannotRun(repositoryRoot));
  for (const name of excluded) say(`cannot run here: ${name}`);
  if (tests.length === 0) {
    say("no test is selected");
    return 1;
  }
  const directory = inRepository(`.runs/node-tests/${wanted.agent}/${wanted.name}`);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const { report, problems } = await runNodeTests(parts, {
    agent: wanted.agent,
    tests,
    flags: wanted.flags,
    procs: wanted.procs,
    expected: new Set(wanted.agent === "go" ? [] : passingNow()),
    directory,
    say,
    sayProgress,
    signal: interrupted("the run", say),
  });
  writeReport(join(directory, "report.json"), report);
  writeFileSync(join(directory, "report.md"), markdownReport(report));
  const missing = notRun(tests, report.tests);
  say(`${report.tests.filter(passed).length} passed of ${tests.length}; see ${join(directory, "report.md")}`);
  for (const problem of problems) say(problem);
  for (const name of missing) say(`did not run: ${name}`);
  if (problems.length + missing.length > 0) return 1;
  return judge(wanted, report, say);
}

/** Keeps the report of a whole list. Any test that passed before and fails now fails the run. */
function judge({ agent, kept }: Wanted, report: Report, say: (line: string) => void): number {
  const before = passingNow();
  if (kept !== undefined) keep(kept, report, before);
  if (agent === "go") return 0;
  const lost = regressions(before, report);
  for (const test of lost) say(`passed before and failed now: ${test}`);
  return lost.length === 0 ? 0 : 1;
}

function keep(list: ListName, report: Report, before: readonly string[]): void {
  const file = inRepository(resultFile(report.agent, list));
  mkdirSync(dirname(file), { recursive: true });
  writeReport(file, report);
  if (report.agent === "deckhand") {
    writeFileSync(inRepository(places.passing), passingText(raised(before, report), "npm run node-tests"));
  }
  writePage();
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
