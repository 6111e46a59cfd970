import assert from "node:assert/strict";
import { test } from "node:test";
import { joinPath } from "./join-path.ts";

test("parts are joined without what leads nowhere, and never above the root", () => {
  assert.equal(joinPath("/var/lib", "seccomp", "a.json"), "/var/lib/seccomp/a.json");
  assert.equal(joinPath("/a/", "/b//./c/"), "/a/b/c");
  assert.equal(joinPath("/a/b", "../../../c"), "/c");
  assert.equal(joinPath("/", ""), "/");
});
