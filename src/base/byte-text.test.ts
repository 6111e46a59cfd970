import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { ByteText } from "./byte-text.ts";

const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom("\ud800", "a\udfff", "\udc00\ud800"),
);
const decoded = (text: ByteText): string => Buffer.from(text.written).toString("utf8");

void suite("ByteText", () => {
  test("encodes any text as Node does, with any initial capacity", () => {
    fc.assert(
      fc.property(fc.array(anyText), fc.nat(8), (parts, roomBytes) => {
        const text = new ByteText(roomBytes);
        for (const part of parts) text.addText(part);
        assert.equal(decoded(text), parts.map((part) => Buffer.from(part, "utf8").toString("utf8")).join(""));
      }),
    );
  });

  test("writes whole numbers with all their digits", () => {
    const edges = fc.constantFrom(0, 9, 10, 99_999_999, 100_000_000, 1_700_000_000_000, Number.MAX_SAFE_INTEGER);
    fc.assert(
      fc.property(fc.oneof(edges, fc.maxSafeNat()), (value) => {
        const text = new ByteText(0);
        text.addWhole(value);
        assert.equal(decoded(text), String(value));
      }),
    );
  });

  test("is empty after clear()", () => {
    const text = new ByteText(4);
    text.addText("before");
    text.clear();
    text.add(Uint8Array.of(0x61, 0x62));
    assert.deepEqual([decoded(text), text.length], ["ab", 2]);
  });
});
