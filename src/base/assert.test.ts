import assert from "node:assert/strict";
import { test } from "node:test";
import { assertNever, assert as assertOurs, BugError } from "./assert.ts";

test("assert lets what holds pass and stops with the message otherwise", () => {
  assertOurs(true, "holds");
  assert.throws(() => assertOurs(false, "the sky fell"), new BugError("the sky fell"));
});

test("assertNever names the value that should not exist", () => {
  const value = { kind: "new" } as unknown as never;
  assert.throws(() => assertNever(value), new BugError(`unexpected value {"kind":"new"}`));
});
