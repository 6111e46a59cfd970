/** Writes docs/node-tests.md: the results of all lists in one report, with the commit of each. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { plain, table } from "../conformance/markdown.ts";
import { mergeOutcomes, type Report, type TestOutcome } from "../conformance/results.ts";
import { agentName, type Explained, explainedFailures, score, sideBySide } from "../conformance/sections.ts";
import { type ListName, listNames, testsOf } from "./lists.ts";
import { places, readCannotRun, readExplained, readResults, readTree } from "./places.ts";
import type { CannotRun } from "./selection.ts";
import type { TreeTest } from "./tree.ts";

export interface Recorded {
  readonly tree: readonly TreeTest[];
  readonly cannotRun: CannotRun;
  readonly go: ReadonlyMap<ListName, Report>;
  readonly deckhand: ReadonlyMap<ListName, Report>;
  readonly explained: Readonly<Record<Report["agent"], Explained>>;
}

export const recorded = (root = repositoryRoot): Recorded => ({
  tree: readTree(root),
  cannotRun: readCannotRun(root),
  go: readResults(root, "go"),
  deckhand: readResults(root, "deckhand"),
  explained: { go: readExplained(root, "go"), deckhand: readExplained(root, "deckhand") },
});

export function writePage(root = repositoryRoot): void {
  writeFileSync(join(root, places.page), nodeTestsPage(recorded(root)));
}

export function nodeTestsPage(known: Recorded): string {
  const { cannotRun, go, deckhand, explained } = known;
  const agents = [merged("go", go), merged("deckhand", deckhand)] as const;
  return [
    "# Upstream's node tests",
    "",
    "Written by `npm run node-tests` from its runs; do not edit.",
    "",
    `The tests of Kubernetes' \`test/e2e_node\` against one kubelet, in an isolated node: the program starts etcd, an API server and the
kubelet itself. Both agents run on the same machine and get the same tests. A test counts as passed when it passed at least once. A test
that skips itself at run time has failed. Lists run separately, so each has its own commit; a test may be in several lists.`,
    "",
    "## Passed, by list",
    "",
    ...byList(known),
    "",
    "## Runs",
    "",
    ...runs([...go.entries(), ...deckhand.entries()]),
    "",
    ...agents.flatMap((report) =>
      section(`${agentName(report)}: failing tests`, explainedFailures(report, explained[report.agent])),
    ),
    ...section("Tests that cannot run on the development machine", excluded(cannotRun)),
    "## Test by test",
    "",
    "<details><summary>All tests that ran, side by side</summary>",
    "",
    ...sideBySide(agents),
    "",
    "</details>",
    "",
  ].join("\n");
}

/** A report with the tests of all lists. */
export function merged(agent: Report["agent"], lists: ReadonlyMap<ListName, Report>): Report {
  const tests = [...lists.values()].reduce<readonly TestOutcome[]>(
    (all, report) => mergeOutcomes(all, report.tests),
    [],
  );
  return { agent, date: "", runs: lists.size, versions: {}, wallSeconds: {}, tests };
}

function byList({ tree, cannotRun, go, deckhand }: Recorded): readonly string[] {
  return table(
    ["list", "tests", "cannot run here", "Go kubelet", "Deckhand"],
    listNames.map((list) => {
      const tests = testsOf(list, tree);
      const left = tests.filter(({ name }) => Object.hasOwn(cannotRun, name));
      const passes = [go, deckhand].map((lists) => {
        const report = lists.get(list);
        return report === undefined ? "not run yet" : score(report.tests);
      });
      return [list, String(tests.length), String(left.length), ...passes];
    }),
  );
}

function runs(reports: readonly (readonly [ListName, Report])[]): readonly string[] {
  return table(
    ["list", "agent", "date", "commit", "kubelet", "runtime", "cgroup", "minutes"],
    reports.map(([list, report]) => {
      const { environment, versions, wallSeconds } = report;
      const minutes = Object.values(wallSeconds).reduce((sum, seconds) => sum + seconds, 0) / 60;
      return [
        list,
        agentName(report),
        report.date,
        environment?.commit ?? "",
        plain(versions["kubelet"] ?? ""),
        plain(versions["runtime"] ?? ""),
        environment?.cgroupVersion ?? "",
        minutes.toFixed(1),
      ];
    }),
  );
}

/** By reason, since many tests share one. */
const excluded = (cannotRun: CannotRun): readonly string[] =>
  [...Map.groupBy(Object.entries(cannotRun), ([, reason]) => reason)].flatMap(([reason, tests]) => [
    `### ${plain(reason)} (${tests.length})`,
    "",
    ...tests.map(([name]) => `- ${plain(name)}`),
    "",
  ]);

function section(title: string, lines: readonly string[]): readonly string[] {
  const body = lines.length === 0 ? ["None."] : lines;
  return [`## ${title}`, "", ...body, ...(body.at(-1) === "" ? [] : [""])];
}
