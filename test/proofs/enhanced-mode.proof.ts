/**
 * Upstream's tests that CI runs, with Deckhand in enhanced mode. CI itself runs them in strict mode. Small size: the
 * agent of a cluster is in the mode that the environment asks for.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { startCluster } from "../cluster/cluster.ts";
import { isEnhanced } from "../cluster/compatibility.ts";
import { wholeSize } from "../size.ts";

test("a cluster's Deckhand has the flag of the enhanced mode exactly if the environment asks for it", async () => {
  const cluster = await startCluster({ controlPlane: "api", nodes: [{ agent: "deckhand" }] });
  try {
    const configured = await cluster.kubectl("get", "--raw", "/api/v1/nodes/n1/proxy/flagz");
    assert.match(configured, isEnhanced ? /deckhand-compatibility=enhanced/ : /deckhand-compatibility=strict/);
  } finally {
    await cluster.down();
  }
});

if (wholeSize()) {
  test("upstream's tests that CI runs pass in enhanced mode", async () => {
    assert.ok(isEnhanced);
    const args = ["test/conformance/run.ts", "--agent", "deckhand", "--subset", "--nodes", "1"];
    const run = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    run.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(run, "close")) as [number | null];
    assert.equal(code, 0, output.slice(-4000));
    const [, passed = "", all] = /^(\d+) passed of (\d+) in /m.exec(output) ?? [];
    assert.equal(passed, all, output.slice(-4000));
    assert.ok(Number(passed) > 0);
  });
}
