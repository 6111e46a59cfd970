import assert from "node:assert/strict";
import { test } from "node:test";
import { goQuote } from "./go-text.ts";

for (const [text, wanted] of [
  ["plain", '"plain"'],
  ['a "b" \\c', '"a \\"b\\" \\\\c"'],
  ["\u0000\u0007\b\t\n\v\f\r\u001b\u007f", '"\\x00\\a\\b\\t\\n\\v\\f\\r\\x1b\\x7f"'],
  ["über 日本 😀", '"über 日本 😀"'],
  ["\u00a0\u200b\u{e0001}", '"\\u00a0\\u200b\\U000e0001"'],
  ["\ud800", '"\ufffd"'],
] as const) {
  test(`goQuote quotes ${JSON.stringify(text)} as Go does`, () => assert.equal(goQuote(text), wanted));
}
