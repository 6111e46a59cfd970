import assert from "node:assert/strict";
import { test } from "node:test";
import { takeOwnFlags } from "./own-flags.ts";

const NAMES = { "-o": "output", "--output": "output", "--fail-on": "failOn" } as const;

test("a command's own flags are accepted anywhere among the kubelet's flags", () => {
  const { own, rest } = takeOwnFlags(
    ["uid", "--config", "/c", "-o", "json", "--v=2", "--fail-on=warning", "-v", "3"],
    NAMES,
  );
  assert.deepEqual(
    [...own],
    [
      ["output", "json"],
      ["failOn", "warning"],
    ],
  );
  assert.deepEqual(rest, ["uid", "--config", "/c", "--v=2", "-v", "3"]);
});

test("the last of repeated flags wins, and a flag without a value is empty", () => {
  assert.equal(takeOwnFlags(["-o=text", "--output=json"], NAMES).own.get("output"), "json");
  assert.equal(takeOwnFlags(["--output"], NAMES).own.get("output"), "");
  assert.equal(takeOwnFlags(["--outputs=json"], NAMES).own.get("output"), undefined);
});
