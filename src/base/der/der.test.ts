import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { DerError, members, objectIdOf, readDer, textOf, timeOf } from "./read-der.ts";
import { bitString, integer, objectId, octetString, sequence, setOf, text, time } from "./write-der.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const bytes = (text: string) => Uint8Array.from(Buffer.from(text, "hex"));

for (const [what, written, wanted] of [
  ["a small integer", integer(Uint8Array.of(2)), "020102"],
  ["zero", integer(Uint8Array.of(0, 0)), "020100"],
  ["an integer that would look negative", integer(Uint8Array.of(0x80)), "02020080"],
  ["an integer with zeros before it", integer(Uint8Array.of(0, 0, 5)), "020105"],
  ["an identifier", objectId("1.2.840.10045.4.3.2"), "06082a8648ce3d040302"],
  ["a plain text", text("system:node:n1"), `130e${Buffer.from("system:node:n1").toString("hex")}`],
  ["a text that is not plain", text("n1@5"), "0c046e314035"],
  ["bits that end inside a byte", bitString(Uint8Array.of(0x80), 7), "03020780"],
  ["a set, by its bytes", setOf(integer(Uint8Array.of(2)), integer(Uint8Array.of(1))), "3106020101020102"],
  [
    "a time before 2050",
    time(Date.UTC(2049, 11, 31, 23, 59, 59)),
    `170d${Buffer.from("491231235959Z").toString("hex")}`,
  ],
  ["a time from 2050 on", time(Date.UTC(2050, 0, 1)), `180f${Buffer.from("20500101000000Z").toString("hex")}`],
] as const) {
  test(`DER encodes ${what}`, () => assert.equal(hex(written), wanted));
}

test("encoded DER decodes to the same value, at any length", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 0, max: 70_000 }), (content, more) => {
      const inner = octetString(Uint8Array.from([...content, ...new Uint8Array(more)]));
      const [read] = members(readDer(sequence(inner)));
      assert.deepEqual(read?.whole, inner);
    }),
    { numRuns: 50 },
  );
  fc.assert(
    fc.property(fc.array(fc.nat(2 ** 31), { minLength: 1, maxLength: 8 }), fc.nat(39), (rest, second) => {
      const dotted = [1, second, ...rest].join(".");
      assert.equal(objectIdOf(readDer(objectId(dotted))), dotted);
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(1950, 0), max: Date.UTC(9999, 0) }), (wallMs) => {
      assert.equal(timeOf(readDer(time(wallMs))), Math.floor(wallMs / 1000) * 1000);
    }),
  );
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), (value) => assert.equal(textOf(readDer(text(value))), value)));
});

for (const [what, broken] of [
  ["nothing", ""],
  ["two elements", "020101020101"],
  ["a length beyond the end", "020501"],
  ["a length without an end", "3080"],
  ["a length in more bytes than needed", "02810101"],
  ["a length of four bytes", "028400000001ff"],
  ["a tag of more than one byte", "1f8101"],
] as const) {
  test(`readDer rejects ${what}`, () => assert.throws(() => readDer(bytes(broken)), DerError));
}

test("readDer returns an element or throws DerError for random bytes", () => {
  const walk = (element: ReturnType<typeof readDer>): void => {
    if ((element.tag & 0x20) !== 0) for (const member of members(element)) walk(member);
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (any) => {
      try {
        walk(readDer(any));
      } catch (error) {
        assert.ok(error instanceof DerError);
      }
    }),
    { numRuns: 2_000 },
  );
});
