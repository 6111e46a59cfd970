import assert from "node:assert/strict";
import { test } from "node:test";
import { partOf } from "./suite.ts";

test("a test runs in the part its tags name, or with the waiting tests if it is one of them and not serial", () => {
  const none = new Set<string>();
  assert.equal(partOf("[sig-node] A [Conformance]", none), "parallel");
  assert.equal(partOf("[sig-node] A [Slow] [Conformance]", none), "slow");
  assert.equal(partOf("[sig-node] A [Serial] [Slow]", none), "serial");
  assert.equal(partOf("[sig-node] A [Slow]", new Set(["[sig-node] A [Slow]"])), "waiting");
  assert.equal(partOf("[sig-node] A [Serial]", new Set(["[sig-node] A [Serial]"])), "serial");
});
