/**
 * Which of upstream's tests this agent passes. The list only grows: a run that fails a listed test is a regression, and
 * a run that passes more tests adds them. A test is removed manually, in a commit that says why.
 */
import { isFlaky, passed, type Report } from "./results.ts";

/** The texts that ginkgo puts before every test's text when it matches a focus. */
export const suites = { e2e: "Kubernetes e2e suite", node: "E2eNode Suite" } as const;

const head = (
  command: string,
) => `# Upstream's tests that pass on a node of ours, one a line, sorted. Written by \`${command}\`: it grows by itself and never
# shrinks by itself. A test of this list that a run includes and that does not pass fails the run.
`;

/** The sections of the subset that CI runs. */
export const sections = { pods: "# pods on our node", api: "# API only" } as const;

/** The names in a file; lines that begin with # are comments. */
export const readNames = (source: string): readonly string[] =>
  source.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

/** The names after the heading, up to the next comment. */
export function namesUnder(source: string, heading: string): readonly string[] {
  const lines = source.split("\n");
  const from = lines.indexOf(heading);
  if (from < 0) throw new Error(`there is no line "${heading}"`);
  const after = lines.slice(from + 1);
  const to = after.findIndex((line) => line.startsWith("#"));
  return readNames(after.slice(0, to < 0 ? undefined : to).join("\n"));
}

export const passingText = (names: readonly string[], command = "npm run conformance"): string =>
  `${head(command)}${names.toSorted().join("\n")}\n`;

/** Listed tests that the run included and that did not pass even once. */
export function regressions(passing: readonly string[], report: Report): readonly string[] {
  const listed = new Set(passing);
  return report.tests.filter((test) => listed.has(test.name) && !passed(test)).map(({ name }) => name);
}

/**
 * The list with the tests that pass now. A test that also failed is not added until it always passes, or the list would
 * report chance failures as regressions.
 */
export function raised(passing: readonly string[], report: Report): readonly string[] {
  const steady = report.tests.filter((test) => passed(test) && !isFlaky(test));
  return [...new Set([...passing, ...steady.map(({ name }) => name)])].toSorted();
}

/**
 * A `--focus` that selects these tests and no others. ginkgo matches it against the suite's name, a space and the
 * test's text. The expression is therefore anchored at both ends, and a name that begins another one selects only
 * itself.
 */
export function focusOf(names: readonly string[], suite: string = suites.e2e): string {
  // An empty focus selects everything.
  if (names.length === 0) throw new Error("no test is named");
  return `^${suite} (?:${names.map(quoted).join("|")})$`;
}

/** A regular expression of Go that matches this text. */
const quoted = (name: string): string => name.replaceAll(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`);
