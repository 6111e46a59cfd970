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
  ["a quoted value is read", "KEY='value'", "value"],
  ["blanks before a name are ignored", "  \tKEY='value'\n", "value"],
  ["comments and empty lines are ignored", "# KEY='no'\n\n   # KEY='no'\n \t\nKEY='yes'\n", "yes"],
  ["special characters in a value are literal", "KEY='$X ${Y} `z` \\n \"q\" # = '", '$X ${Y} `z` \\n "q" # = '],
  ["a comment after a value is ignored", "KEY='value' # more\n", "value"],
  ["a value may span several lines", "A='x'\nKEY='one\n two\n\n# three' #\nB='y'", "one\n two\n\n# three"],
  ["a line inside another value defines nothing", "A='KEY=\n\nKEY='\nKEY='right'", "right"],
  ["CRLF line ends are read as LF", "A='1'\r\nKEY='one\r\ntwo'\r\n", "one\ntwo"],
  ["a carriage return inside a line is kept", "KEY='a\rb'", "a\rb"],
  ["the first of two definitions wins", "KEY='first'\nKEY='second'", "first"],
  ["lines after the value are not checked", "KEY='value'\nnonsense", "value"],
  ["a name that is not defined has no value", "A='1'\n", undefined],
  ["an empty value counts as no value", "KEY=''\n", undefined],
  ["a blank after the equals sign is an empty value, as in a shell", "KEY= 'value'\n", undefined],
  ["a blank after the equals sign of another name is accepted", "A= whatever\nKEY='value'\n", "value"],
  ["an empty file has no value", "", undefined],
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

test("[24.10] a value that is not UTF-8 is read, and a line may have at most 65535 bytes", () => {
  const [quote, bad] = [utf8Bytes("KEY='"), Uint8Array.of(0xff, 0xfe)];
  const answer = valueInEnvFile(Uint8Array.from([...quote, ...bad, 39, 10]), "KEY");
  assert.deepEqual(answer, { kind: "value", value: bad });
  const line = (bytes: number) => `KEY='${"x".repeat(bytes - 6)}'`;
  assert.equal(of(line(65_535), "KEY")?.length, 65_529);
  assert.match(of(line(65_536), "KEY") ?? "", /^refused: /);
});

test("[24.10] every quoted value is read back, whatever else the file contains", () => {
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

test("[24.10] any file is either read or refused, without an exception", () => {
  const piece = fc.constantFrom("KEY", "=", "'", "\n", " ", "#", "x", "\r");
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      assert.ok(["value", "absent", "refused"].includes(valueInEnvFile(utf8Bytes(pieces.join("")), "KEY").kind));
    }),
    { numRuns: 1_000 },
  );
});
