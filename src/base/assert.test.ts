import assert from "node:assert/strict";
import { test } from "node:test";
import { assertNever, assert as assertOurs, BugError } from "./assert.ts";

test("assertOurs throws BugError with the message when the condition is false", () => {
  assertOurs(true, "holds");
  assert.throws(() => assertOurs(false, "the sky fell"), new BugError("the sky fell"));
});

test("assertNever throws BugError with the unexpected value", () => {
  const value = { kind: "new" } as unknown as never;
  assert.throws(() => assertNever(value), new BugError(`unexpected value {"kind":"new"}`));
});
