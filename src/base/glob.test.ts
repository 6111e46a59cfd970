import assert from "node:assert/strict";
import { test } from "node:test";
import { matchesGlob } from "./glob.ts";

test("an asterisk of a glob matches any text, slashes included, and other characters match themselves", () => {
  const cases: readonly (readonly [pattern: string, text: string, matches: boolean])[] = [
    ["a", "a", true],
    ["a", "ab", false],
    ["*", "", true],
    ["*", "a/b:c", true],
    ["a*", "ba", false],
    ["*/pause:*", "registry.k8s.io/pause:3.10", true],
    ["a*b*c", "a/b/b/c", true],
    ["a*a", "a", false],
    ["a*bc*c", "abc", false],
    ["a.b", "axb", false],
    ["[a]", "a", false],
  ];
  for (const [pattern, text, matches] of cases) assert.equal(matchesGlob(pattern, text), matches, `${pattern} ${text}`);
});
