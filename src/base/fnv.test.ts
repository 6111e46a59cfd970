import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { goldenJson } from "../../test/support/golden.ts";
import { fnv1a32, fnv1a128 } from "./fnv.ts";
import { utf8Bytes } from "./utf8.ts";

interface Golden {
  readonly fnv: readonly { readonly text: string; readonly fnv32a: string; readonly fnv128a: string }[];
}

void test("fnv1a32 and fnv1a128 hash as in Go", () => {
  for (const { text, fnv32a, fnv128a } of (goldenJson("container-hash.json") as Golden).fnv) {
    assert.equal(fnv1a32(utf8Bytes(text)).toString(16).padStart(8, "0"), fnv32a, text);
    assert.equal(fnv1a128(utf8Bytes(text)).toString(16).padStart(32, "0"), fnv128a, text);
  }
});

void test("utf8Bytes encodes as TextEncoder does", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0x10ffff })), (points) => {
      const text = String.fromCodePoint(...points);
      assert.deepEqual(utf8Bytes(text), new Uint8Array(new TextEncoder().encode(text)));
    }),
  );
});
