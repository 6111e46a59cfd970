import assert from "node:assert/strict";
import { test } from "node:test";
import { container } from "../../../test/support/pods.ts";
import { backoffKey } from "./snapshot.ts";

test("[7.13] the back-off key depends on name, image and resources, not on args or tty", () => {
  const key = backoffKey(container("app"));
  for (const other of [
    container("b"),
    container("app", { image: "other" }),
    container("app", { resources: { limits: { cpu: "1" } } }),
  ]) {
    assert.notEqual(backoffKey(other), key);
  }
  assert.equal(backoffKey(container("app", { args: ["x"], tty: true })), key);
});
