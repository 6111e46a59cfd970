import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { base64Bytes } from "./base64.ts";
import { concatBytes } from "./bytes.ts";
import { utf8Bytes, utf8Text } from "./utf8.ts";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const platformText = (bytes: Uint8Array): string | undefined => {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
};

test("utf8Bytes encodes as TextEncoder does, and utf8Text decodes it back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const bytes = utf8Bytes(text);
      assert.deepEqual(bytes, new TextEncoder().encode(text));
      assert.equal(utf8Text(bytes), text.toWellFormed());
    }),
  );
});

test("utf8Text accepts exactly the bytes that a fatal TextDecoder accepts", () => {
  const near = fc.constantFrom(
    0x00,
    0x7f,
    0x80,
    0xbf,
    0xc0,
    0xc2,
    0xdf,
    0xe0,
    0xa0,
    0xed,
    0x9f,
    0xef,
    0xf0,
    0x90,
    0xf4,
    0x8f,
    0xf5,
    0xff,
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.array(near, { maxLength: 6 }).map((each) => Uint8Array.from(each)),
      ),
      (bytes) => {
        assert.equal(utf8Text(bytes), platformText(bytes));
      },
    ),
    { numRuns: 2_000 },
  );
});

test("base64Bytes decodes what Buffer encodes, and rejects invalid base64", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.deepEqual(base64Bytes(Buffer.from(bytes).toString("base64")), bytes);
    }),
  );
  assert.deepEqual(base64Bytes("aGk\r\n="), utf8Bytes("hi"));
  for (const text of ["a", "aGk", "aG=k", "a===", "aGk-", "aGk= ", "===="])
    assert.equal(base64Bytes(text), undefined, text);
});

test("concatBytes concatenates in order", () => {
  assert.deepEqual(concatBytes([Uint8Array.of(1, 2), new Uint8Array(), Uint8Array.of(3)]), Uint8Array.of(1, 2, 3));
  assert.deepEqual(concatBytes([]), new Uint8Array());
});
