import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { decodeBase64 } from "./base64.ts";

const bytesOf = (text: string, padding: "padded" | "bare") => {
  const decoded = decodeBase64(text, padding);
  return decoded.kind === "bytes" ? Buffer.from(decoded.bytes).toString("hex") : decoded.message;
};

test("decodeBase64 decodes what Node encodes, with and without padding, and across line breaks", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(60), (bytes, at) => {
      const text = Buffer.from(bytes).toString("base64");
      const broken = `${text.slice(0, at)}\r\n${text.slice(at)}`;
      const wanted = Buffer.from(bytes).toString("hex");
      assert.equal(bytesOf(text, "padded"), wanted);
      assert.equal(bytesOf(broken, "padded"), wanted);
      assert.equal(bytesOf(text.replace(/=+$/, ""), "bare"), wanted);
    }),
  );
});

for (const [text, padding, wanted] of [
  ["YQ==", "padded", "61"],
  ["YR==", "padded", "61"],
  ["YQ", "bare", "61"],
  ["", "padded", ""],
  ["YQ", "padded", "illegal base64 data at input byte 0"],
  ["YQ==", "bare", "illegal base64 data at input byte 2"],
  ["Y", "bare", "illegal base64 data at input byte 0"],
  ["YW Jj", "bare", "illegal base64 data at input byte 2"],
  ["YWJj%", "padded", "illegal base64 data at input byte 4"],
] as const) {
  test(`decodeBase64 of ${JSON.stringify(text)} (${padding}) gives "${wanted}"`, () =>
    assert.equal(bytesOf(text, padding), wanted));
}
