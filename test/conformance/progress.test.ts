import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Progress } from "./progress.ts";

const LABELS = "[sig-node, NodeConformance, Conformance]";
const PASSED = `Will run 3 of 7579 specs
------------------------------
[SynchronizedBeforeSuite] PASSED [0.034 seconds]
[SynchronizedBeforeSuite]
------------------------------
• [2.311 seconds]
[sig-node] Secrets should be consumable from pods [NodeConformance] [Conformance] ${LABELS}
k8s.io/kubernetes@v1.36.4/test/e2e/common/node/secrets.go:49

  Timeline >>
  STEP: Creating a kubernetes client @ 11/16/26 05:57:02.759`;
const FAILED = `• [FAILED] [3.139 seconds]
[sig-node] Pods [It] should get a host IP [NodeConformance] [Conformance] ${LABELS}
k8s.io/kubernetes@v1.36.4/test/e2e/common/node/pods.go:208`;
const HOST_IP = "[sig-node] Pods should get a host IP [NodeConformance] [Conformance]";

function after(output: string, ginkgo = "parallel", progress = new Progress()) {
  const ended = output.split("\n").flatMap((line) => progress.note(ginkgo, line) ?? []);
  return { progress, ended };
}

void suite("progress of a conformance run", () => {
  test("reads the end of each test with its full name, with or without the step that failed", () => {
    assert.deepEqual(after(`${PASSED}\n${FAILED}`).ended, [
      { test: "[sig-node] Secrets should be consumable from pods [NodeConformance] [Conformance]", passed: true },
      { test: HOST_IP, passed: false },
    ]);
  });

  test("with one process the name precedes the test's output, and the mark comes last", () => {
    const output = `------------------------------
[sig-node] Taints [Serial] evicts pods [Disruptive] [Conformance] [sig-node, Serial, Disruptive, Conformance]
k8s.io/kubernetes@v1.36.4/test/e2e/node/taints.go:444
  STEP: Creating a kubernetes client @ 11/16/26 06:32:02.624
• [0.041 seconds]
------------------------------
[sig-apps] Daemon set [Serial] should rollback [Conformance] [sig-apps, Serial, Conformance]
k8s.io/kubernetes@v1.36.4/test/e2e/apps/daemon_set.go:444
• [FAILED] [1.041 seconds]
[sig-apps] Daemon set [Serial] [It] should rollback [Conformance] [sig-apps, Serial, Conformance]
------------------------------`;
    assert.deepEqual(after(output).ended, [
      { test: "[sig-node] Taints [Serial] evicts pods [Disruptive] [Conformance]", passed: true },
      { test: "[sig-apps] Daemon set [Serial] should rollback [Conformance]", passed: false },
    ]);
  });

  test("a test that panicked, timed out or was interrupted has failed", () => {
    for (const trouble of ["PANICKED!", "TIMEDOUT", "INTERRUPTED"]) {
      const [one] = after(`• [${trouble}] [1.5 seconds]\n[sig-apps] D [AfterEach] does [sig-apps, Conformance]`).ended;
      assert.deepEqual(one, { test: "[sig-apps] D does", passed: false });
    }
  });

  test("counts tests over all parts, and names those that have begun and not ended", () => {
    const { progress } = after(`${PASSED}\n${FAILED}`);
    after("Will run 2 of 7579 specs", "slow", progress);
    assert.equal(
      progress.line([HOST_IP, "[sig-node] C [Slow] runs [Conformance]"]),
      "2 done, 1 failed, 3 left; running: C runs",
    );
  });

  test("a test that passes in its second run does not count as failed", () => {
    const { progress } = after(`Will run 1 of 9 specs\n${FAILED}`);
    after(FAILED.replace("[FAILED] ", ""), "parallel-again", progress);
    assert.equal(progress.line([]), "1 done, 0 failed, 0 left; running: none");
    assert.equal(progress.line(), "1 done, 0 failed, 0 left");
  });
});
