/**
 * Collects what failing node tests leave behind, a directory per test: its failure, what it wrote (upstream adds the
 * pods and events of its namespace), and the lines of the agent's and the runtime's logs about them.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { directoryName, type NodeLogs, PickedLogs } from "../conformance/picked-logs.ts";
import { passed, readGinkgoReport, readReportedTests } from "../conformance/results.ts";

const NAMESPACE = /namespace "(?<name>[a-z0-9-]+)"/gi;
/** Namespaces that no test has for itself. */
const SHARED: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public", "kube-node-lease"]);

/** The namespaces that a test with this output had for itself. */
export const namespacesOf = (output: string): readonly string[] =>
  [...output.matchAll(NAMESPACE)].flatMap(({ groups }) => {
    const name = groups?.["name"];
    return name === undefined || SHARED.has(name) ? [] : [name];
  });

export async function saveFailures(report: unknown, directory: string, logs: NodeLogs): Promise<void> {
  const outputs = new Map(readReportedTests(report).map(({ name, output }) => [name, output]));
  const picked = new PickedLogs();
  for (const test of readGinkgoReport(report)) {
    if (passed(test)) continue;
    const own = join(directory, directoryName(test.name));
    const output = outputs.get(test.name) ?? "";
    await mkdir(own, { recursive: true });
    await writeFile(join(own, "test.txt"), `${test.name}\n${test.failure ?? "no message"}\n`);
    await writeFile(join(own, "output.txt"), output);
    for (const namespace of namespacesOf(output)) picked.own(namespace, own);
    picked.learn(output, own);
  }
  await picked.pick(logs);
}
