/** A report made from lines of the Go kubelet's score, written to files and pages. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { inRepository } from "../../tools/repository.ts";
import { scratch } from "../../tools/scratch.ts";
import { pagesOfRecordedRuns, writePages } from "./pages.ts";
import { docsPage, markdownReport, readmeLine, withReadmeLine } from "./report.ts";
import { parseReport, places, readExplained, reportText, writeReport } from "./report-file.ts";
import type { Report, TestOutcome } from "./results.ts";

const DAEMON_SET = "[sig-apps] Daemon set [Serial] should rollback without unnecessary restarts [Conformance]";
const ENVIRONMENT = "[sig-node] ConfigMap should be consumable via the environment [NodeConformance] [Conformance]";
const PROBE =
  "[sig-node] Probing container should *not* be restarted with a tcp:8080 liveness probe [NodeConformance] [Conformance]";
const IMMUTABLE = "[sig-storage] Secrets should be immutable if `immutable` field is set [Conformance]";

const SCORE = `passes	fails	seconds	test
0	1	0.0	${DAEMON_SET}
2	1	4.1	${ENVIRONMENT}
1	0	242.3	${PROBE}
1	0	0.1	${IMMUTABLE}
`;

const outcomes: readonly TestOutcome[] = SCORE.trim()
  .split("\n")
  .slice(1)
  .map((line) => {
    const [passes, fails, seconds, name = ""] = line.split("\t");
    return { name, passes: Number(passes), fails: Number(fails), seconds: Number(seconds) };
  });

const go: Report = {
  agent: "go",
  date: "2026-11-15",
  runs: 3,
  versions: { kubernetes: "v1.36.4", containerd: "v2.4.2", "node agent": "kubelet v1.36.4" },
  wallSeconds: { parallel: 894, whole: 2800 },
  tests: outcomes,
};

const deckhand: Report = {
  ...go,
  agent: "deckhand",
  date: "2026-11-16",
  runs: 1,
  versions: { ...go.versions, "node agent": "deckhand 0.0.0" },
  tests: [
    { name: DAEMON_SET, passes: 0, fails: 1, seconds: 0.1, failure: "needs 2 nodes" },
    { name: ENVIRONMENT, passes: 0, fails: 1, seconds: 5, failure: "expected\n<string>: a|b [x](y)" },
    {
      name: PROBE,
      passes: 0,
      fails: 1,
      seconds: 3,
      failure: "timed out",
      waitsFor: ["resource claims", "raw block volumes"],
    },
    { name: IMMUTABLE, passes: 1, fails: 0, seconds: 0.1 },
  ],
};

const explained = readExplained(inRepository(places.explained));
const has = (page: string, ...lines: readonly string[]) => {
  for (const line of lines) assert.ok(page.split("\n").includes(line), `${line}\nis not a line of\n${page}`);
};

describe("a report's file", () => {
  test("holds one test per line and is read back as written", () => {
    const source = reportText(deckhand);
    assert.deepEqual(parseReport(source, "here"), deckhand);
    assert.deepEqual(JSON.parse(source), JSON.parse(JSON.stringify(deckhand)));
    assert.equal(source.split("\n").filter((line) => line.startsWith('    {"name":')).length, deckhand.tests.length);
  });

  test("of another shape is rejected with the place of the error", () => {
    assert.throws(() => parseReport('{"agent":"go"}', "here"), /here: date/);
    assert.throws(() => parseReport('{"agent":"crio"}', "here"), /no agent "crio"/);
  });

  test("is valid JSON for a report without tests", () => {
    const empty = { ...go, tests: [] };
    assert.deepEqual(parseReport(reportText(empty), "here"), empty);
  });
});

describe("the report of a run", () => {
  test("without another report shows its score, and its failures by the features they wait for", () => {
    const page = markdownReport(deckhand);
    has(
      page,
      "# Conformance run: Deckhand",
      "1 of 4 tests passed, on 2026-11-16.",
      "| sig-node | 0 of 2 |",
      "| all | 1 of 4 |",
      "| parallel | 14.9 min |",
      "| node agent | deckhand 0.0.0 |",
      "| resource claims | 16.6 to 16.10 | 1 | 0 |",
      "### Waiting for raw block volumes, resource claims (1)",
      String.raw`- ${PROBE.replaceAll("*", String.raw`\*`)}`,
      "### For another reason (2)",
      `- ${DAEMON_SET}: needs 2 nodes`,
      String.raw`- ${ENVIRONMENT}: expected &lt;string>: a\|b [x] (y)`,
    );
    assert.doesNotMatch(page, /Test by test/);
  });

  test("with the other agent's report separates tests that both fail, and has a line for every test", () => {
    has(
      markdownReport(deckhand, go),
      "| all | 3 of 4 | 1 of 4 |",
      "### The Go kubelet fails them here too (1)",
      "### For another reason (1)",
      "| test | Go kubelet | seconds | Deckhand | seconds |",
      `| ${DAEMON_SET} | **failed** | 0.0 | **failed** | 0.1 |`,
      `| ${ENVIRONMENT} | passed 2 of 3 | 4.1 | **failed** | 5.0 |`,
    );
  });

  test("has commit, platform, cgroup version and driver in its first lines and in the file", () => {
    const environment = {
      commit: "8f0bf7d",
      platform: "linux/amd64",
      cgroupVersion: "v1",
      cgroupDriver: "cgroupfs",
      nodes: 2,
    } as const;
    const [ours, theirs] = [
      { ...deckhand, environment },
      { ...go, environment: { ...environment, nodes: 1 } },
    ];
    const where = "commit 8f0bf7d, linux/amd64, cgroup v1, cgroup driver cgroupfs";
    assert.deepEqual(markdownReport(ours).split("\n").slice(0, 3), [
      "# Conformance run: Deckhand",
      "",
      `- Deckhand: ${where}, 2 nodes`,
    ]);
    assert.deepEqual(docsPage(theirs, ours, explained).split("\n").slice(4, 6), [
      `- Go kubelet: ${where}, one node`,
      `- Deckhand: ${where}, 2 nodes`,
    ]);
    assert.deepEqual(parseReport(reportText(ours), "here"), ours);
  });

  test("does not report a test that one agent did not run as failed", () => {
    has(
      markdownReport({ ...deckhand, tests: deckhand.tests.slice(0, 1) }, go),
      `| ${ENVIRONMENT} | passed 2 of 3 | 4.1 | not run |  |`,
    );
  });
});

describe("the pages", () => {
  test("docs/conformance.md names its generator, both scores, flaky tests and why the Go kubelet fails tests", () => {
    const page = docsPage(go, deckhand, explained);
    has(
      page,
      "Written by `npm run conformance` from its runs; do not edit.",
      "| sig-apps | 0 of 1 | 0 of 1 |",
      "| last run | 2026-11-15 | 2026-11-16 |",
      `- ${ENVIRONMENT}: passed 2 times, failed once`,
      `- ${DAEMON_SET}: It needs two nodes that take pods; the cluster here has one.`,
      "### Waiting for raw block volumes, resource claims (1)",
    );
    assert.match(page, /## Deckhand: passed in one run, failed in another\n\nNone\.\n/);
    assert.ok(page.endsWith("</details>\n"));
  });

  test("the README's sentence is between its markers, however often it is written", () => {
    const line = readmeLine(go, deckhand);
    assert.match(line, /v1\.36\.4.*\*\*1 of 4\*\*.*3 of 4/);
    const [begin, end] = ["<!-- conformance: written by npm run conformance -->", "<!-- /conformance -->"];
    const once = withReadmeLine(`a\n${begin}\n${end}\nb\n`, line);
    assert.equal(once, `a\n${begin}\n${line}\n${end}\nb\n`);
    assert.equal(withReadmeLine(once, line), once);
    assert.throws(() => withReadmeLine("a\n", line), /the README has no/);
  });

  test("are written from the recorded runs", () => {
    using tree = scratch();
    tree.copy(places.explained);
    tree.write(places.page, "as it was");
    tree.write(places.readme, "a\n<!-- conformance: written by npm run conformance -->\n<!-- /conformance -->\n");
    writeReport(tree.path(places.baseline), go);
    writeReport(tree.path(places.latest), deckhand);
    writePages(tree.root);
    assert.equal(readFileSync(tree.path(places.page), "utf8"), docsPage(go, deckhand, explained));
    assert.ok(readFileSync(tree.path(places.readme), "utf8").includes(readmeLine(go, deckhand)));
  });

  test("match the recorded runs, and do not exist before both agents have run", () => {
    const recorded = [places.baseline, places.latest].every((path) => existsSync(inRepository(path)));
    assert.equal(existsSync(inRepository(places.page)), recorded);
    for (const [path, page] of Object.entries(recorded ? pagesOfRecordedRuns() : {})) {
      assert.equal(readFileSync(inRepository(path), "utf8"), page, `${path}: npm run conformance writes it`);
    }
  });
});
