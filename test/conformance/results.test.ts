import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mergeOutcomes, mergeReports, type Report, readGinkgoReport, sigOf, suiteProblems } from "./results.ts";

const EXEC = "[sig-node] Pods should support remote command execution over websockets [NodeConformance] [Conformance]";

/** A test as ginkgo 2.28.1 writes it, without the fields that are not read. */
const spec = (text: string, state: string, failure?: object) => ({
  ContainerHierarchyTexts: ["[sig-node] Pods", ""],
  ContainerHierarchyLabels: [["sig-node"], []],
  LeafNodeType: "It",
  LeafNodeText: text,
  LeafNodeLabels: null,
  State: state,
  RunTime: 2_249_000_000,
  ...(failure === undefined ? {} : { Failure: failure }),
});

const suiteNode = (type: string, state: string, failure?: object) => ({
  ...spec("", state, failure),
  ContainerHierarchyTexts: null,
  LeafNodeType: type,
});

const suite = (specs: readonly object[], selected: number, reasons: readonly string[] | null = []) => [
  {
    SuiteDescription: "Kubernetes e2e suite",
    SpecialSuiteFailureReasons: reasons,
    PreRunStats: { TotalSpecs: 7000, SpecsThatWillRun: selected },
    SpecReports: specs,
  },
];

const location = { FileName: "/root/go/k8s.io/kubernetes@v1.36.4/test/e2e/common/node/pods.go", LineNumber: 513 };

describe("ginkgo's report", () => {
  test("a test's name joins the texts of its containers and its own, and its seconds are rounded to tenths", () => {
    const specs = [
      spec("should support remote command execution over websockets [NodeConformance] [Conformance]", "passed"),
    ];
    assert.deepEqual(readGinkgoReport(suite(specs, 1)), [{ name: EXEC, passes: 1, fails: 0, seconds: 2.2 }]);
  });

  test("unselected tests and nodes that are not tests are left out, and the rest is sorted", () => {
    const specs = [
      suiteNode("SynchronizedBeforeSuite", "passed"),
      spec("b", "passed"),
      spec("unselected", "skipped"),
      spec("later", "pending"),
      spec("a", "passed"),
    ];
    const names = readGinkgoReport(suite(specs, 2)).map(({ name }) => name);
    assert.deepEqual(names, ["[sig-node] Pods a", "[sig-node] Pods b"]);
    assert.deepEqual(suiteProblems(suite(specs, 2, null)), []);
  });

  for (const state of ["failed", "panicked", "timedout", "interrupted", "aborted"]) {
    test(`${state} counts as failed, with the first lines of the message and its place in the source`, () => {
      const failure = {
        Message:
          "error running /root/tools/kubectl --server=https://10.0.0.1 --kubeconfig=/root/run/kubeconfig get pods:\n\n    a\nb\nc\nd",
        Location: location,
      };
      const [outcome] = readGinkgoReport(suite([spec("x", state, failure)], 1));
      assert.deepEqual(outcome, {
        name: "[sig-node] Pods x",
        passes: 0,
        fails: 1,
        seconds: 2.2,
        failure:
          "error running kubectl --server=https://10.0.0.1 get pods:\na\nb\nc\n(test/e2e/common/node/pods.go:513)",
      });
    });
  }

  test("a panic's failure contains the value it panicked with", () => {
    const failure = { Message: "Test Panicked", ForwardedPanic: "nil map", Location: {} };
    assert.equal(readGinkgoReport(suite([spec("x", "panicked", failure)], 1))[0]?.failure, "Test Panicked\nnil map");
  });

  test("a test that skips itself while it runs counts as failed", () => {
    const [outcome] = readGinkgoReport(suite([spec("x", "skipped", { Message: "no such node" })], 1));
    assert.equal(outcome?.fails, 1);
    assert.equal(outcome.failure, "it left itself out: no such node");
  });

  test("a state that is not known is an error", () => {
    assert.throws(() => readGinkgoReport(suite([spec("x", "dreamt")], 1)), /"dreamt"/);
  });

  test("a run that was aborted reports why", () => {
    const specs = [
      suiteNode("SynchronizedBeforeSuite", "failed", { Message: "the nodes are not ready" }),
      spec("x", "skipped"),
    ];
    assert.deepEqual(suiteProblems(suite(specs, 1, ["Suite Timeout Elapsed"])), [
      "Suite Timeout Elapsed",
      "SynchronizedBeforeSuite: the nodes are not ready",
      "0 of the 1 selected tests ran",
    ]);
  });
});

describe("several runs", () => {
  const report = (changes: Partial<Report>): Report => ({
    agent: "deckhand",
    date: "2026-11-15",
    runs: 1,
    versions: { kubernetes: "v1.36.4" },
    wallSeconds: { parallel: 900, whole: 2800 },
    tests: [],
    ...changes,
  });

  test("passes and fails add up, seconds are the last run's, and a failure's message is kept after a pass", () => {
    const older = report({
      tests: [
        { name: "a", passes: 0, fails: 1, seconds: 9, failure: "too late", waitsFor: ["probes"] },
        { name: "c", passes: 1, fails: 0, seconds: 1 },
      ],
    });
    const newer = report({
      date: "2026-11-16",
      wallSeconds: { parallel: 800 },
      tests: [
        { name: "a", passes: 1, fails: 0, seconds: 2 },
        { name: "b", passes: 0, fails: 1, seconds: 3, failure: "no", waitsFor: ["probes"] },
      ],
    });
    assert.deepEqual(mergeReports(older, newer), {
      agent: "deckhand",
      date: "2026-11-16",
      runs: 2,
      versions: { kubernetes: "v1.36.4" },
      wallSeconds: { parallel: 900, whole: 2800 },
      tests: [
        { name: "a", passes: 1, fails: 1, seconds: 2, failure: "too late" },
        { name: "b", passes: 0, fails: 1, seconds: 3, failure: "no", waitsFor: ["probes"] },
        { name: "c", passes: 1, fails: 0, seconds: 1 },
      ],
    });
  });

  test("reports of other versions, another environment or another agent are rejected", () => {
    const other = report({ versions: { kubernetes: "v1.36.5" } });
    assert.throws(() => mergeReports(report({}), other), /different versions/);
    const environment = { platform: "linux/amd64", cgroupVersion: "v1", cgroupDriver: "cgroupfs", nodes: 2 } as const;
    const of = (commit: string) => report({ environment: { commit, ...environment } });
    assert.throws(() => mergeReports(of("a"), of("b")), /different environment/);
    assert.throws(() => mergeReports(report({}), report({ agent: "go" })), /report of go/);
  });

  test("the parts of one run are merged in the order of test names", () => {
    const part = (name: string) => [{ name, passes: 1, fails: 0, seconds: 1 }];
    assert.deepEqual(
      mergeOutcomes(part("b"), part("a")).map(({ name }) => name),
      ["a", "b"],
    );
  });
});

for (const [name, sig] of [
  [EXEC, "sig-node"],
  ["[sig-api-machinery] Discovery should ...", "sig-api-machinery"],
  ["Something [sig-node]", "no SIG"],
] as const) {
  test(`the SIG of "${name}" is ${sig}`, () => assert.equal(sigOf(name), sig));
}
