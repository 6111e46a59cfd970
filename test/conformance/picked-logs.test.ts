import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { directoryName, PickedLogs } from "./picked-logs.ts";

void suite("the directory of a test", () => {
  test("is its name without punctuation", () => {
    assert.equal(directoryName("[sig-node] Pods should run [Slow]"), "sig-node-Pods-should-run-Slow");
  });

  test("is another one for another test whose long name begins alike", () => {
    const [one, other] = ["one", "other"].map((end) => directoryName(`${"a long name ".repeat(20)}${end}`));
    assert.notEqual(one, other);
    assert.equal(one?.length, 120);
  });
});

void suite("the lines about failed tests", () => {
  test("are those with a namespace of the test, or with an ID from such a line of the runtime", async () => {
    const root = await mkdtemp(join(tmpdir(), "deckhand-picked-"));
    try {
      const own = join(root, "own");
      await mkdir(own);
      const id = "a".repeat(64);
      const [runtime, agent] = [join(root, "cri.txt"), join(root, "agent.txt")];
      await writeFile(runtime, `sandbox ${id} of pods-1/a\nsandbox of pods-2/b\n`);
      await writeFile(agent, `started ${id}\nstarted ${"b".repeat(64)}\n`);
      const logs = new PickedLogs();
      logs.own("pods-1", own);
      await logs.pick({ runtime, agent, node: root });
      assert.equal(await readFile(join(own, "cri.log"), "utf8"), `sandbox ${id} of pods-1/a\n`);
      assert.equal(await readFile(join(own, "agent.log"), "utf8"), `started ${id}\n`);
    } finally {
      await rm(root, { recursive: true });
    }
  });
});
