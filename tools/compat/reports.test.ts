import assert from "node:assert/strict";
import { test } from "node:test";
import { describeAge } from "./reports.ts";

test("the age of a report counts the commits that changed the sources", () => {
  assert.equal(describeAge({ commits: 3, sourceCommits: 1 }), "3 commits old, 1 of them changed src");
  assert.equal(describeAge(undefined), "of a commit that is not in this history");
});
