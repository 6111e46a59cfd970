import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { TERMINAL_SIZE_BYTES_MAX, TERMINAL_SIZE_HELD_BYTES_MAX } from "../limits.ts";
import { ResizeReader } from "./resize.ts";

const read = (...texts: readonly string[]) => {
  const reader = new ResizeReader();
  return texts.flatMap((text) => {
    const size = reader.read(Buffer.from(text));
    return size === undefined ? [] : [`${size.Width}x${size.Height}`];
  });
};

void test("[20.9] terminal sizes are read however messages split or join them; a missing side is 0", () => {
  assert.deepEqual(read('{"Width":80,"Height":24}\n'), ["80x24"]);
  assert.deepEqual(read('{"Wid', 'th":80,"Height":24}{"Height":50', ',"Width":132}\n'), ["80x24", "132x50"]);
  assert.deepEqual(read('{"Width":80}'), ["80x0"]);
});

void test("an invalid size ends the resizing, and earlier sizes count", () => {
  const good = '{"Width":80,"Height":24}';
  for (const bad of [
    '{"Width":-1,"Height":2}',
    '{"Width":65536,"Height":2}',
    '{"Width":1.5,"Height":2}',
    '{"Width":"80","Height":2}',
    "[]}",
    "null}",
    "}",
    "x".repeat(TERMINAL_SIZE_HELD_BYTES_MAX + 1),
  ]) {
    assert.deepEqual(read(good + bad, good), ["80x24"], bad);
  }
});

void test("only the last of many sizes in one message counts, and an oversized message ends the resizing", () => {
  const [first, last] = ['{"Width":80,"Height":24}', '{"Width":132,"Height":50}'];
  assert.deepEqual(read(first.repeat(100) + last, first), ["132x50", "80x24"]);
  assert.deepEqual(read("{}".repeat(500_000) + last, first), ["0x0"]);
  const whole = "{}".repeat(TERMINAL_SIZE_BYTES_MAX / 2);
  assert.deepEqual(read(whole, first), ["0x0", "80x24"]);
  assert.deepEqual(read(`${whole} `, first), ["0x0"]);
});

void test("a partial size is held up to the limit, one byte more ends the resizing", () => {
  const [begin, end] = ['{"Width":80,', '"Height":24}'];
  assert.deepEqual(read(begin.padEnd(TERMINAL_SIZE_HELD_BYTES_MAX), end), ["80x24"]);
  assert.deepEqual(read(begin.padEnd(TERMINAL_SIZE_HELD_BYTES_MAX + 1), end), []);
});

void test("arbitrary text gives only valid sizes", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 400 })), (texts) => {
      for (const size of read(...texts)) assert.match(size, /^\d{1,5}x\d{1,5}$/);
    }),
  );
});
