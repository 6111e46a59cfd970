import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { EXPLANATIONS_SHARED_MS } from "../server/limits.ts";
import { sharedExplanations } from "./shared-explanations.ts";

const forever = new AbortController().signal;

test("requests share one reading of the journal, which is released after a few seconds; a failed one is not shared", async () => {
  const clock = new ManualClock();
  let lists = 0;
  let isBroken = false;
  const files = {
    list: async () => {
      lists += 1;
      if (isBroken) throw new Error("input/output error");
      return [];
    },
    read: () => assert.fail("there is no file"),
  };
  const machine = { filesystem: () => Promise.reject(new Error("unknown")) };
  const explanations = sharedExplanations({ clock, files, machine }, "/r");
  const question = { pod: "shop/web", nowWallMs: 0 };
  const [pod, node] = await Promise.all([explanations.pod(question, forever), explanations.node(forever)]);
  assert.deepEqual([pod.kind, node.kind, lists], ["unknown", "unknown", 1]);
  await clock.advance(EXPLANATIONS_SHARED_MS - 1);
  await explanations.node(forever);
  assert.equal(lists, 1);
  await clock.advance(1);
  assert.equal(clock.timersPending, 0);
  isBroken = true;
  await assert.rejects(explanations.node(forever), /input\/output error/);
  isBroken = false;
  assert.equal((await explanations.node(forever)).kind, "unknown");
  assert.equal(lists, 3);
});
