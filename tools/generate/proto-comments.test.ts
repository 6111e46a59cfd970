import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutComments } from "./proto-comments.ts";

test("removes both kinds of comments and the empty lines they leave", () => {
  const proto =
    '/* licence\n * text */\nsyntax = "proto3"; // why\n\n// of M\nmessage M {\n  int32 a/* b */= 1; // c\n}\n';
  assert.equal(withoutComments(proto), 'syntax = "proto3";\nmessage M {\n  int32 a = 1;\n}\n');
});

test("keeps what looks like a comment inside a string", () => {
  const proto = `option a = "http://x";\noption b = '/* y */';\noption c = "\\"//z";\n`;
  assert.equal(withoutComments(proto), proto);
});

test("a quote inside a comment does not start a string", () => {
  assert.equal(withoutComments("// don't\nmessage A {}\n// can't\n"), "message A {}\n");
});
