/** The sections of conformance reports, each a list of Markdown lines. */
import { rowsOf } from "./features.ts";
import { plain, table } from "./markdown.ts";
import { isFlaky, passed, type Report, sigOf, type TestOutcome } from "./results.ts";

type Lines = readonly string[];

/** Reasons why tests fail that cannot pass here, by test name. */
export type Explained = Readonly<Record<string, string>>;

export const agentName = ({ agent }: Report): string => (agent === "go" ? "Go kubelet" : "Deckhand");

/** One line for each report: its commit, platform, cgroups and nodes. */
export const environments = (reports: readonly Report[]): Lines =>
  reports.flatMap((report) => {
    const { environment } = report;
    if (environment === undefined) return [];
    const { commit, platform, cgroupVersion, cgroupDriver, nodes } = environment;
    const cluster = nodes === 1 ? "one node" : `${nodes} nodes`;
    return [
      `- ${agentName(report)}: commit ${commit}, ${platform}, cgroup ${cgroupVersion}, cgroup driver ${cgroupDriver}, ${cluster}`,
    ];
  });

/** "310 of 555". */
export const score = (tests: readonly TestOutcome[]): string => `${tests.filter(passed).length} of ${tests.length}`;

/** The score among all tests that any of the reports has run; a test that was not run has not passed. */
export function scoreAmong(report: Report, reports: readonly Report[]): string {
  const all = new Set(reports.flatMap(({ tests }) => tests.map(({ name }) => name)));
  const notRun = all.size - report.tests.length;
  const count = `${report.tests.filter(passed).length} of ${all.size}`;
  return notRun === 0 ? count : `${count} (${notRun} not run yet)`;
}

export function bySig(reports: readonly Report[]): Lines {
  const sigs = [...new Set(reports.flatMap(({ tests }) => tests.map(({ name }) => sigOf(name))))].toSorted();
  const row = (title: string, isMeant: (name: string) => boolean) => {
    const meant = reports.map((report) => ({ ...report, tests: report.tests.filter(({ name }) => isMeant(name)) }));
    return [title, ...meant.map((report) => scoreAmong(report, meant))];
  };
  const rows = sigs.map((sig) => row(sig, (name) => sigOf(name) === sig));
  return table(["passed", ...reports.map(agentName)], [...rows, row("all", () => true)]);
}

export function wallTimes(reports: readonly Report[]): Lines {
  const parts = [...new Set(reports.flatMap(({ wallSeconds }) => Object.keys(wallSeconds)))];
  const minutes = (seconds: number | undefined) => (seconds === undefined ? "" : `${(seconds / 60).toFixed(1)} min`);
  return table(
    ["part of the run", ...reports.map(agentName)],
    parts.map((part) => [part, ...reports.map(({ wallSeconds }) => minutes(wallSeconds[part]))]),
  );
}

export function versions(reports: readonly Report[]): Lines {
  const names = [...new Set(reports.flatMap(({ versions }) => Object.keys(versions)))];
  return table(
    ["", ...reports.map(agentName)],
    [
      ["last run", ...reports.map(({ date }) => date)],
      ["runs", ...reports.map(({ runs }) => String(runs))],
      ...names.map((name) => [name, ...reports.map(({ versions }) => plain(versions[name] ?? ""))]),
    ],
  );
}

/** The tests that passed in one run and failed in another. */
export function flakyTests(report: Report): Lines {
  return report.tests
    .filter(isFlaky)
    .map(
      ({ name, passes, fails, failure }) =>
        `- ${plain(name)}: passed ${times(passes)}, failed ${times(fails)}${failure === undefined ? "" : `: ${plain(failure)}`}`,
    );
}

/** Each failing test with its reason, or with its failure message if no reason is known. */
export function explainedFailures(report: Report, explained: Explained): Lines {
  return failing(report.tests).map(
    ({ name, failure }) => `- ${plain(name)}: ${explained[name] ?? plain(failure ?? "no message")}`,
  );
}

/**
 * The missing features with the number of tests that wait for each; then the failing tests by the features they wait
 * for, those that the other agent fails too, and those that wait for nothing.
 */
export function failuresByFeature(report: Report, other?: Report): Lines {
  const failed = failing(report.tests);
  const elsewhere = new Set(other === undefined ? [] : failing(other.tests).map(({ name }) => name));
  const alsoElsewhere = failed.filter(({ name }) => elsewhere.has(name));
  const own = failed.filter(({ name }) => !elsewhere.has(name));
  const waiting = own.filter((test) => featuresOf(test).length > 0);
  const others = own.filter((test) => featuresOf(test).length === 0);
  return [
    ...featureTable(waiting),
    ...[...Map.groupBy(waiting, (test) => featuresOf(test).join(", "))]
      .toSorted(([nameA, a], [nameB, b]) => b.length - a.length || (nameA < nameB ? -1 : 1))
      .flatMap(([features, tests]) => group(`Waiting for ${plain(features)}`, tests, (test) => plain(test.name))),
    ...(other === undefined
      ? []
      : group(`The ${agentName(other)} fails them here too`, alsoElsewhere, (test) => plain(test.name))),
    ...group("For another reason", others, ({ name, failure }) => `${plain(name)}: ${plain(failure ?? "no message")}`),
  ];
}

function featureTable(waiting: readonly TestOutcome[]): Lines {
  if (waiting.length === 0) return [];
  const features = Map.groupBy(
    waiting.flatMap((test) => featuresOf(test).map((feature) => ({ feature, alone: featuresOf(test).length === 1 }))),
    ({ feature }) => feature,
  );
  const rows = [...features]
    .toSorted(([nameA, a], [nameB, b]) => b.length - a.length || (nameA < nameB ? -1 : 1))
    .map(([feature, tests]) => [
      plain(feature),
      rowsOf(feature) ?? "",
      String(tests.length),
      String(tests.filter(({ alone }) => alone).length),
    ]);
  return [...table(["feature", "rows of the ledger", "tests that wait for it", "and for nothing else"], rows), ""];
}

/** All tests of the reports, side by side. */
export function sideBySide(reports: readonly Report[]): Lines {
  const names = [...new Set(reports.flatMap(({ tests }) => tests.map(({ name }) => name)))].toSorted();
  const byName = reports.map(({ tests }) => new Map(tests.map((test) => [test.name, test])));
  return table(
    ["test", ...reports.flatMap((report) => [agentName(report), "seconds"])],
    names.map((name) => [
      plain(name),
      ...byName.flatMap((tests) => {
        const test = tests.get(name);
        return test === undefined ? ["not run", ""] : [verdict(test), test.seconds.toFixed(1)];
      }),
    ]),
  );
}

function verdict(test: TestOutcome): string {
  if (isFlaky(test)) return `passed ${test.passes} of ${test.passes + test.fails}`;
  return passed(test) ? "passed" : "**failed**";
}

function group(title: string, tests: readonly TestOutcome[], line: (test: TestOutcome) => string): Lines {
  if (tests.length === 0) return [];
  return [`### ${title} (${tests.length})`, "", ...tests.map((test) => `- ${line(test)}`), ""];
}

const failing = (tests: readonly TestOutcome[]): readonly TestOutcome[] => tests.filter((test) => !passed(test));
const featuresOf = ({ waitsFor }: TestOutcome): readonly string[] => (waitsFor ?? []).toSorted();
const times = (count: number): string => (count === 1 ? "once" : `${count} times`);
