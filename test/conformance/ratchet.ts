/**
 * Which of upstream's tests this agent passes. The list only grows: a run that fails a test of it is a regression, a run that passes
 * more raises it, and whoever wants a test off the list takes it off by hand, in a commit that says why.
 */
import { isFlaky, passed, type Report } from "./results.ts";

/** What ginkgo puts before every test's text when it looks for a focus. */
const SUITE = "Kubernetes e2e suite";

const HEAD = `# Upstream's tests that pass on a node of ours, one a line, sorted. Written by \`npm run conformance\`: it grows by itself and never
# shrinks by itself. A test of this list that a run includes and that does not pass fails the run.
`;

/** The sections of the subset that CI runs. */
export const sections = { pods: "# pods on our node", api: "# API only" } as const;

/** Lines that begin with # are comments. */
export const readNames = (source: string): readonly string[] =>
  source.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

/** Those after the heading, up to the next comment. */
export function namesUnder(source: string, heading: string): readonly string[] {
  const lines = source.split("\n");
  const from = lines.indexOf(heading);
  if (from < 0) throw new Error(`there is no line "${heading}"`);
  const after = lines.slice(from + 1);
  const to = after.findIndex((line) => line.startsWith("#"));
  return readNames(after.slice(0, to < 0 ? undefined : to).join("\n"));
}

export const passingText = (names: readonly string[]): string => `${HEAD}${names.toSorted().join("\n")}\n`;

/** Tests of the list that the run included and that did not pass even once. */
export function regressions(passing: readonly string[], report: Report): readonly string[] {
  const listed = new Set(passing);
  return report.tests.filter((test) => listed.has(test.name) && !passed(test)).map(({ name }) => name);
}

/** The list with what passes now. What failed as well waits until it passes always, or the list would call chance a regression. */
export function raised(passing: readonly string[], report: Report): readonly string[] {
  const steady = report.tests.filter((test) => passed(test) && !isFlaky(test));
  return [...new Set([...passing, ...steady.map(({ name }) => name)])].toSorted();
}

/**
 * A `--focus` that selects these tests and no others. Ginkgo looks for it in the suite's name, a space and the test's text, so that
 * it can be held at both ends, and a name that begins another one selects only itself.
 */
export function focusOf(names: readonly string[]): string {
  // An empty focus selects everything.
  if (names.length === 0) throw new Error("no test is named");
  return `^${SUITE} (?:${names.map(quoted).join("|")})$`;
}

/** As a regular expression of Go that matches this text. */
const quoted = (name: string): string => name.replaceAll(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`);
