/**
 * The texts written from a conformance run: its own report, docs/conformance.md, and a sentence of the README. The same
 * results give the same text.
 */
import { withTextBetween } from "../../tools/marked-text.ts";
import type { Report } from "./results.ts";
import {
  agentName,
  bySig,
  type Explained,
  environments,
  explainedFailures,
  failuresByFeature,
  flakyTests,
  score,
  scoreAmong,
  sideBySide,
  versions,
  wallTimes,
} from "./sections.ts";

const README_MARKERS = {
  begin: "<!-- conformance: written by npm run conformance -->",
  end: "<!-- /conformance -->",
  name: "the README",
} as const;

/** The report of one run, beside the other agent's results where they are given. */
export function markdownReport(report: Report, other?: Report): string {
  const reports = other === undefined ? [report] : [other, report];
  return [
    `# Conformance run: ${agentName(report)}`,
    "",
    ...withGap(environments([report])),
    `${score(report.tests)} tests passed, on ${report.date}.`,
    "",
    ...section("By SIG", bySig(reports)),
    ...section("Wall time", wallTimes(reports)),
    ...section("Versions", versions(reports)),
    ...section("Passed in one run, failed in another", flakyTests(report)),
    ...section("Failing tests", failuresByFeature(report, other)),
    ...(other === undefined ? [] : section("Test by test", sideBySide(reports))),
  ].join("\n");
}

/** The text of docs/conformance.md. */
export function docsPage(go: Report, deckhand: Report, explained: Explained, broken?: Report): string {
  const reports = [go, deckhand];
  return [
    `# Conformance: upstream's own tests

Written by \`npm run conformance\` from its runs; do not edit.
`,
    ...withGap(environments(reports)),
    `The tests of Kubernetes ${kubernetesOf(deckhand)} with the label Conformance or NodeConformance (\`test/e2e\`), on a cluster made by
\`test/cluster\`: a real API server, the real controllers and scheduler, containerd and runc. Both agents run on the same machine and get the
same tests. A test counts as passed when it passed at least once; one that also failed is named below. Seconds are those of the last run.
`,
    ...section("Passed, by SIG", bySig(reports)),
    ...section("Versions", versions(reports)),
    ...section("Wall time of a whole run", wallTimes(reports)),
    ...reports.flatMap((report) =>
      section(`${agentName(report)}: passed in one run, failed in another`, orNone(flakyTests(report))),
    ),
    ...section("Go kubelet: why it fails what it fails", orNone(explainedFailures(go, explained))),
    ...section("Deckhand: what the failing tests wait for", [
      "Rows are those of [compatibility.md](compatibility.md).",
      "",
      ...orNone(failuresByFeature(deckhand, go)),
    ]),
    ...(broken === undefined ? [] : section("Whether the tests see the agent", seenBreaking(broken))),
    ...section("Test by test", [
      "<details><summary>All tests, side by side</summary>",
      "",
      ...sideBySide(reports),
      "",
      "</details>",
    ]),
  ].join("\n");
}

const seenBreaking = (broken: Report): readonly string[] => [
  `With an agent that is Deckhand in all but one thing, its writes of pods' status are dropped, ${score(broken.tests)} tests that run pods`,
  `passed on ${broken.date}.`,
];

/** The README's sentence with both scores. */
export const readmeLine = (go: Report, deckhand: Report): string =>
  `Of upstream's own end-to-end tests for Kubernetes ${kubernetesOf(deckhand)} (labels Conformance and NodeConformance) Deckhand passes ` +
  `**${scoreAmong(deckhand, [go, deckhand])}**; the Go kubelet passes ${scoreAmong(go, [go, deckhand])} on the same machine. ` +
  "[docs/conformance.md](docs/conformance.md) has them test by test, and what the failing ones wait for.";

/** The README with this line between the markers. */
export const withReadmeLine = (readme: string, line: string): string => withTextBetween(readme, README_MARKERS, line);

function kubernetesOf({ versions }: Report): string {
  const version = versions["kubernetes"];
  if (version === undefined) throw new Error("the report does not name the version of kubernetes");
  return version;
}

/** A section; nothing if it has no lines. */
function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return [`## ${title}`, "", ...withoutEnd(lines), ""];
}

const withGap = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? [] : [...lines, ""]);
const orNone = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? ["None."] : lines);
const withoutEnd = (lines: readonly string[]): readonly string[] => (lines.at(-1) === "" ? lines.slice(0, -1) : lines);
