import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { inRepository } from "../../tools/repository.ts";
import { passed, type Report } from "../conformance/results.ts";
import { merged, nodeTestsPage, recorded } from "./pages.ts";
import { places } from "./places.ts";

const report = (agent: Report["agent"], commit: string, passes: number): Report => ({
  agent,
  environment: { commit, platform: "linux/amd64", cgroupVersion: "v1", cgroupDriver: "cgroupfs", nodes: 1 },
  date: "2026-11-19",
  runs: 1,
  versions: { kubelet: "v1.36.4" },
  wallSeconds: { parallel: 90, serial: 30 },
  tests: [{ name: "[sig-node] OOMKiller a", passes, fails: 1 - passes, seconds: 1 }],
});

void suite("the page of upstream's node tests", () => {
  test("matches the recorded runs", () => {
    assert.equal(readFileSync(inRepository(places.page), "utf8"), nodeTestsPage(recorded()));
  });

  test("explains no test that passes", () => {
    const { go, deckhand, explained } = recorded();
    const passing = [merged("go", go), merged("deckhand", deckhand)].flatMap(({ agent, tests }) =>
      tests.filter((outcome) => passed(outcome) && explained[agent][outcome.name] !== undefined),
    );
    assert.deepEqual(passing, []);
  });

  test("has every list with the commit of its run, and each test that cannot run with its reason", () => {
    const page = nodeTestsPage({
      tree: [{ name: "[sig-node] OOMKiller a", file: "e2e_node/oomkiller_linux_test.go", labels: [] }],
      cannotRun: { "[sig-node] Restart b": "it restarts the runtime over D-Bus" },
      go: new Map([["oom", report("go", "aaa", 1)]]),
      deckhand: new Map([["oom", report("deckhand", "bbb", 0)]]),
      explained: { go: {}, deckhand: { "[sig-node] OOMKiller a": "it has no OOM watcher" } },
    });
    assert.match(page, /\| oom \| 1 \| 0 \| 1 of 1 \| 0 of 1 \|/);
    assert.match(page, /\| oom \| Go kubelet \| 2026-11-19 \| aaa \| v1.36.4 \|  \| v1 \| 2.0 \|/);
    assert.match(page, /\| oom \| Deckhand \| 2026-11-19 \| bbb \|/);
    assert.match(page, /### it restarts the runtime over D-Bus \(1\)\n\n- \[sig-node\] Restart b/);
    assert.match(page, /## Deckhand: failing tests\n\n- \[sig-node\] OOMKiller a: it has no OOM watcher/);
    assert.match(page, /\| restarts \| 0 \| 0 \| not run yet \| not run yet \|/);
  });
});
