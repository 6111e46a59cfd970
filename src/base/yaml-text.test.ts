import assert from "node:assert/strict";
import { test } from "node:test";
import { parseYaml } from "./yaml-text.ts";

test("[1.3] intAsBigInt parses integers in every notation as bigints", () => {
  const parsed = parseYaml("[12, 0x1F, 0644, 0o644, -0o17, 9007199254740993, 1.0, 1_000]", { intAsBigInt: true });
  assert.ok(parsed.kind === "ok");
  assert.deepEqual(parsed.value, [12n, 31n, 420n, 420n, -15n, 9007199254740993n, 1, 1000n]);
  const plain = parseYaml("[12, 0o644]");
  assert.deepEqual(plain.kind === "ok" && plain.value, [12, 420]);
});

test("[1.3] the last of duplicate keys wins, and duplicates are reported with their lines", () => {
  const parsed = parseYaml('a: 1\nb: {c: 1, c: 2}\n"a": 3\nx: &x {p: 1}\ny: &y {q: 1}\nz:\n  <<: *x\n  <<: *y\n');
  assert.ok(parsed.kind === "ok");
  assert.deepEqual(parsed.duplicateKeys, ['line 2: key "c" already set in map', 'line 3: key "a" already set in map']);
  assert.deepEqual(Object.entries(parsed.value as object).slice(0, 2), [
    ["a", 3],
    ["b", { c: 2 }],
  ]);
});

test("the depth limit counts nesting, not brackets in strings", () => {
  const script = parseYaml(`args: ["printf '${"\\\\033[1m{".repeat(200)}'"]`);
  assert.equal(script.kind, "ok", JSON.stringify(script));
  const nested = (depth: number) => parseYaml(`${"[".repeat(depth)}${"]".repeat(depth)}`);
  assert.equal(nested(64).kind, "ok");
  for (const depth of [66, 500, 5000]) {
    assert.deepEqual(nested(depth), { kind: "malformed", detail: "yaml: nested deeper than 64" });
  }
});

test("documents with 100 000 distinct and 100 000 duplicate keys are parsed", () => {
  const keys = Array.from({ length: 100_000 }, (_, index) => `k${index}: 1`);
  const parsed = parseYaml(keys.join("\n"));
  assert.ok(parsed.kind === "ok" && Object.keys(parsed.value as object).length === 100_000);
  const twice = parseYaml(keys.map(() => "k: 1").join("\n"));
  assert.ok(twice.kind === "ok" && twice.duplicateKeys.at(-1) === 'line 100000: key "k" already set in map');
});
