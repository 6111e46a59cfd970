import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { utf8Bytes, utf8Text } from "../../../base/utf8.ts";
import { valueInEnvFile } from "./env-file.ts";

const of = (content: string, key: string) => {
  const answer = valueInEnvFile(utf8Bytes(content), key);
  if (answer.kind === "value") return utf8Text(answer.value);
  return answer.kind === "absent" ? undefined : `refused: ${answer.message}`;
};

for (const [what, content, value] of [
  ["a line", "KEY='value'", "value"],
  ["blanks before a name", "  \tKEY='value'\n", "value"],
  ["comments and empty lines", "# KEY='no'\n\n   # KEY='no'\n \t\nKEY='yes'\n", "yes"],
  ["nothing special in a value", "KEY='$X ${Y} `z` \\n \"q\" # = '", '$X ${Y} `z` \\n "q" # = '],
  ["a comment after a value", "KEY='value' # more\n", "value"],
  ["a value over several lines", "A='x'\nKEY='one\n two\n\n# three' #\nB='y'", "one\n two\n\n# three"],
  ["a value of a name before it over several lines", "A='KEY=\n\nKEY='\nKEY='right'", "right"],
  ["a file with carriage returns", "A='1'\r\nKEY='one\r\ntwo'\r\n", "one\ntwo"],
  ["a carriage return inside a line", "KEY='a\rb'", "a\rb"],
  ["the first of two", "KEY='first'\nKEY='second'", "first"],
  ["what stands after it is not looked at", "KEY='value'\nnonsense", "value"],
  ["no such name", "A='1'\n", undefined],
  ["an empty value", "KEY=''\n", undefined],
  ["a blank after the equals sign is an empty value, as for a shell", "KEY= 'value'\n", undefined],
  ["a blank after another's equals sign", "A= whatever\nKEY='value'\n", "value"],
  ["an empty file", "", undefined],
] as const) {
  test(`[24.10] ${what}`, () => assert.equal(of(content, "KEY"), value));
}

for (const [content, where, message] of [
  ["KEY", "at line 1", "missing '='"],
  ["A='1'\n='x'", "at line 2", "empty variable name"],
  [" \t ='x'", "at line 1", "empty variable name"],
  ["KEY ='x'", "at line 1", "whitespace before '=' is not allowed"],
  ["KEY=x", "at line 1", "value must be enclosed in single quotes"],
  ['KEY="x"', "at line 1", "value must be enclosed in single quotes"],
  ["KEY=", "at line 1", "value must be enclosed in single quotes"],
  ["KEY='x'y", "at line 1", "unexpected content after closing quote"],
  ["KEY='x''y'", "at line 1", "unexpected content after closing quote"],
  ["A='x\ny'z\nKEY='1'", "at line 2", "unexpected content after closing quote"],
  ["A='1'\nKEY='x\n\n", "starting at line 2", "unclosed single quote"],
] as const) {
  test(`[24.10] ${JSON.stringify(content)} is refused`, () =>
    assert.equal(of(content, "KEY"), `refused: invalid environment variable format ${where}: ${message}`));
}

test("[24.10] a value that is no text comes through, and a line may have 65535 bytes", () => {
  const [quote, bad] = [utf8Bytes("KEY='"), Uint8Array.of(0xff, 0xfe)];
  const answer = valueInEnvFile(Uint8Array.from([...quote, ...bad, 39, 10]), "KEY");
  assert.deepEqual(answer, { kind: "value", value: bad });
  const line = (bytes: number) => `KEY='${"x".repeat(bytes - 6)}'`;
  assert.equal(of(line(65_535), "KEY")?.length, 65_529);
  assert.match(of(line(65_536), "KEY") ?? "", /^refused: /);
});

test("[24.10] what is written in quotes is read back, whatever else the file holds", () => {
  const name = fc.string({ unit: fc.constantFrom("A", "B", "_", "1"), minLength: 1, maxLength: 4 });
  const value = fc.string({ unit: fc.constantFrom("a", "=", "#", "\n", " ", "$", '"', "ä", "\t"), minLength: 1 });
  const filler = fc.constantFrom("", "\n", "# x = 'y\n", "   \n");
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value, filler)), (lines) => {
      const content = lines.map(([key, text, more]) => `${key}='${text}'\n${more}`).join("");
      const first = new Map(lines.toReversed().map(([key, text]) => [key, text]));
      for (const [key, text] of first) assert.equal(of(content, key), text);
      assert.equal(of(content, "NONE"), undefined);
    }),
  );
});

test("[24.10] no file makes it fail in any other way than by refusing", () => {
  const piece = fc.constantFrom("KEY", "=", "'", "\n", " ", "#", "x", "\r");
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      assert.ok(["value", "absent", "refused"].includes(valueInEnvFile(utf8Bytes(pieces.join("")), "KEY").kind));
    }),
    { numRuns: 1_000 },
  );
});
