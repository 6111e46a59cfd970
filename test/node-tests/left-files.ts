/**
 * Removes the files that upstream's tests leave in the machine's /tmp, which the isolated node shares: device plugins
 * create theirs there whatever TMPDIR says. Their names begin with the namespace of a test, which no other run has.
 */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { readReportedTests } from "../conformance/results.ts";
import { namespacesOf } from "./failures.ts";

const SHARED_DIRECTORY = "/tmp";

/** `report` is ginkgo's. */
export async function removeLeftFiles(report: unknown, directory = SHARED_DIRECTORY): Promise<void> {
  const namespaces = new Set(readReportedTests(report).flatMap(({ output }) => namespacesOf(output)));
  for (const name of await readdir(directory)) {
    if ([...namespaces].some((namespace) => name.startsWith(`${namespace}-`)))
      await rm(join(directory, name), { recursive: true, force: true });
  }
}
