/** The files that keep the tree, the lists' results and what is written from them. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseJson, record, text } from "../../tools/shape.ts";
import { readReport } from "../conformance/report-file.ts";
import type { Report } from "../conformance/results.ts";
import type { Explained } from "../conformance/sections.ts";
import { type ListName, listNames } from "./lists.ts";
import type { CannotRun } from "./selection.ts";
import { parseTree, type TreeTest } from "./tree.ts";

export const places = {
  /** Every test of upstream's program, with its labels. */
  tree: "test/node-tests/tree.txt",
  cannotRun: "test/node-tests/cannot-run.json",
  /** Why an agent fails a test, by agent and test. */
  explained: "test/node-tests/explained.json",
  /** One report per agent and list. */
  results: "test/node-tests/results",
  passing: "test/node-tests/passing.txt",
  ciSubset: "test/node-tests/ci-subset.txt",
  page: "docs/node-tests.md",
} as const;

/** The report of the last whole run of a list. */
export const resultFile = (agent: Report["agent"], list: ListName): string => `${places.results}/${agent}/${list}.json`;

export const readTree = (root: string): readonly TreeTest[] => parseTree(readFileSync(join(root, places.tree), "utf8"));

export function readCannotRun(root: string): CannotRun {
  const file = join(root, places.cannotRun);
  return record(parseJson(readFileSync(file, "utf8")), file, text);
}

export function readExplained(root: string, agent: Report["agent"]): Explained {
  const file = join(root, places.explained);
  const agents = record(parseJson(readFileSync(file, "utf8")), file, (causes, where) => record(causes, where, text));
  return agents[agent] ?? {};
}

/** The recorded results of an agent, by list, without tests of which it became known later that they cannot run. */
export function readResults(root: string, agent: Report["agent"]): ReadonlyMap<ListName, Report> {
  const cannotRun = readCannotRun(root);
  const known = (report: Report): Report => ({
    ...report,
    tests: report.tests.filter(({ name }) => !Object.hasOwn(cannotRun, name)),
  });
  return new Map(
    listNames.flatMap((list) => {
      const file = join(root, resultFile(agent, list));
      return existsSync(file) ? [[list, known(readReport(file))] as const] : [];
    }),
  );
}
