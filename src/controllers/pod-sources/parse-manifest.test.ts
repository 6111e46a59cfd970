import assert from "node:assert/strict";
import { test } from "node:test";
import { parseManifest } from "./parse-manifest.ts";

const parse = (text: string) => parseManifest(new TextEncoder().encode(text));
const valueOf = (text: string) => {
  const parsed = parse(text);
  assert.equal(parsed.kind, "ok", parsed.kind === "malformed" ? parsed.detail : "");
  return parsed.kind === "ok" ? parsed.value : undefined;
};

const scalars: readonly (readonly [string, unknown])[] = [
  ["0644", 0o644],
  ["0o17", 15],
  ["0x1F", 31],
  ["yes", true],
  ["off", false],
  ["~", null],
  ["1_000", 1000],
  ["1.5", 1.5],
  ["2026-01-01", "2026-01-01"],
  ["12:30", "12:30"],
  ["12:30:45.5", "12:30:45.5"],
  ['"0644"', "0644"],
  ["1e3", 1000],
  ["100m", "100m"],
];
for (const [text, value] of scalars) {
  test(`[4.4] the scalar ${text} is read as ${JSON.stringify(value)}`, () => {
    assert.deepEqual(valueOf(`a: ${text}\n`), { a: value });
  });
}

test("[4.4] JSON and YAML of one manifest yield the same value", () => {
  const value = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a" },
    spec: { containers: [{ name: "b", args: ["c"] }] },
  };
  const yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: b\n    args: [c]\n";
  assert.deepEqual(valueOf(JSON.stringify(value)), value);
  assert.deepEqual(valueOf(`# a comment\n---\n${yaml}`), value);
});

test("[4.4] the first of several documents is read, whatever the others are", () => {
  assert.deepEqual(valueOf("a: 1\n---\nb: [unclosed\n"), { a: 1 });
});

test("anchors and merge keys are supported; exponential anchor expansion is refused", () => {
  assert.deepEqual(valueOf("x: &a {p: 1}\nz:\n  <<: *a\n  q: 2\n"), { x: { p: 1 }, z: { p: 1, q: 2 } });
  const levels = Array.from(
    { length: 9 },
    (_, level) => `l${level + 1}: &l${level + 1} [${Array.from({ length: 9 }, () => `*l${level}`).join(",")}]`,
  );
  const bomb = parse(`l0: &l0 [x]\n${levels.join("\n")}\n`);
  assert.equal(bomb.kind, "malformed");
});

test("the last of two equal keys counts, as in Go", () => {
  assert.deepEqual(valueOf("a: 1\na: 2\n"), { a: 2 });
});

for (const [name, text] of [
  ["tabs for indentation", "a:\n\tb: 1\n"],
  ["an unclosed list", "a: [1\n"],
  ["an empty file", ""],
] as const) {
  test(`an invalid manifest is refused: ${name}`, () => assert.equal(parse(text).kind, "malformed"));
}

test("bytes that are not text are refused", () => {
  assert.equal(parseManifest(Uint8Array.from([0xff, 0xfe, 0x00, 0x80])).kind, "malformed");
});
