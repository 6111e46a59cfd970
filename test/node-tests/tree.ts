/**
 * Upstream's tree of node tests: every test of e2e_node.test with its labels, as a dry run of the program reports it.
 * `tree.txt` holds the tree of the pinned version, one test per line, so that the lists can be read and checked
 * without the program.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command } from "../cluster/command.ts";
import type { Parts } from "../cluster/parts.ts";
import { readReportedTests } from "../conformance/results.ts";

export interface TreeTest {
  readonly name: string;
  /** In upstream's directory of tests: "e2e_node/log_path_test.go". */
  readonly file: string;
  readonly labels: readonly string[];
}

/** Sorted by name. A name that upstream gives to several tests is there once, with the labels of all. */
export async function upstreamTree(parts: Parts): Promise<readonly TreeTest[]> {
  // The program creates files in its working directory.
  const directory = await mkdtemp(join(tmpdir(), "deckhand-node-tests-"));
  try {
    const report = join(directory, "tree.json");
    const flags = ["--ginkgo.dry-run", "--ginkgo.silence-skips", `--ginkgo.json-report=${report}`];
    await command(parts.path("e2e_node.test"), flags, { cwd: directory, limitMs: 5 * 60_000 });
    return treeOf(JSON.parse(await readFile(report, "utf8")));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** From ginkgo's report of a dry run. */
export function treeOf(report: unknown): readonly TreeTest[] {
  const byName = Map.groupBy(readReportedTests(report), ({ name }) => name);
  return [...byName]
    .map(([name, tests]) => ({
      name,
      file: tests[0]?.file ?? "",
      labels: [...new Set(tests.flatMap(({ labels }) => labels))].toSorted(),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** One line per test: its file, its labels and its name, with tabs between them. */
export const treeText = (tree: readonly TreeTest[]): string =>
  tree.map(({ name, file, labels }) => `${file}\t${labels.join(", ")}\t${name}\n`).join("");

export function parseTree(source: string): readonly TreeTest[] {
  return source
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [file, labels, name] = line.split("\t");
      if (file === undefined || labels === undefined || name === undefined)
        throw new Error(`a line of the tree needs a file, labels and a name: ${line}`);
      return { name, file, labels: labels.split(", ").filter(Boolean) };
    });
}
