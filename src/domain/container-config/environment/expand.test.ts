import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { utf8Bytes, utf8Text } from "../../../base/utf8.ts";
import { expand } from "./expand.ts";

const VALUES: ReadonlyMap<string, string> = new Map([
  ["VAR_A", "A"],
  ["VAR_B", "B"],
  ["VAR_REF", "$(VAR_A)"],
  ["VAR_EMPTY", ""],
  ["__proto__", "own"],
  ["a b", "blank"],
]);
const lookup = (name: string) => {
  const value = VALUES.get(name);
  return value === undefined ? undefined : utf8Bytes(value);
};
const expanded = (text: string) => utf8Text(expand(text, lookup));

for (const [text, meant] of [
  ["", ""],
  ["plain", "plain"],
  ["$(VAR_A)", "A"],
  ["___$(VAR_B)___", "___B___"],
  ["$(VAR_A)-$(VAR_B)$(VAR_A)", "A-BA"],
  ["$(VAR_EMPTY)|", "|"],
  ["$(VAR_REF)", "$(VAR_A)"],
  ["$(MISSING)", "$(MISSING)"],
  ["$()", "$()"],
  ["$$", "$"],
  ["$$$$", "$$"],
  ["$$$", "$$"],
  ["$$(VAR_A)", "$(VAR_A)"],
  ["$$$(VAR_A)", "$A"],
  ["$$$$(VAR_A)", "$$(VAR_A)"],
  ["$", "$"],
  ["a$", "a$"],
  ["$VAR_A", "$VAR_A"],
  ["${VAR_A}", "${VAR_A}"],
  ["$ (VAR_A)", "$ (VAR_A)"],
  ["$(VAR_A", "$(VAR_A"],
  ["$($(VAR_A)", "$($(VAR_A)"],
  ["$(VAR_A))", "A)"],
  ["$(VAR_A$$", "$(VAR_A$"],
  ["$($$", "$($"],
  ["$ä$(VAR_B)", "$äB"],
  ["$\u{1f600}$$", "$\u{1f600}$"],
  ["$(__proto__)$(constructor)", "own$(constructor)"],
  ["$(a b)\n$(VAR_A\n)", "blank\n$(VAR_A\n)"],
] as const) {
  test(`[7.21] ${JSON.stringify(text)} is ${JSON.stringify(meant)}`, () => assert.equal(expanded(text), meant));
}

test("[7.21] a value that is not UTF-8 is expanded byte for byte", () => {
  const bytes = Uint8Array.of(0xff, 0, 0xc3);
  assert.deepEqual(
    expand("<$(X)>", () => bytes),
    Uint8Array.of(60, 0xff, 0, 0xc3, 62),
  );
});

test("[7.21] text without a dollar is unchanged, doubled dollars become single, and any text expands", () => {
  const text = fc.string({ unit: fc.constantFrom("$", "(", ")", "V", "A", "_", "ä", " ") });
  fc.assert(
    fc.property(text, (each) => {
      assert.equal(expanded(each.replaceAll("$", "")), each.replaceAll("$", ""));
      assert.equal(expanded(each.replaceAll("$", () => "$$")), each);
      assert.ok(expanded(each) !== undefined);
    }),
    { numRuns: 1_000 },
  );
});

test("[7.21] adjacent references are each replaced, whatever their values contain", () => {
  const value = fc.string({ unit: fc.constantFrom("$", "(", ")", "A", "x") });
  fc.assert(
    fc.property(fc.array(value), (values) => {
      const text = values.map((_, index) => `$(${index})`).join("");
      assert.equal(utf8Text(expand(text, (name) => utf8Bytes(values[Number(name)] ?? ""))), values.join(""));
    }),
  );
});
