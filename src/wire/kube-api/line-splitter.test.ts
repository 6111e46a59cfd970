import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LineSplitter } from "./line-splitter.ts";

function split(chunks: readonly Buffer[]): { readonly lines: string[]; readonly left: number } {
  const splitter = new LineSplitter(1000);
  const lines = chunks.flatMap((chunk) => [...splitter.push(chunk)].map((line) => line.toString("utf8")));
  return { lines, left: splitter.pendingBytes };
}

void test("text split at any byte gives the same lines, also inside multi-byte characters", () => {
  const line = fc.string({ unit: "binary", maxLength: 20 }).map((text) => text.replaceAll("\n", " "));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(400), { maxLength: 40 }), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
      const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
      const chunks = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
      const wanted = lines.map((text) => Buffer.from(text).toString("utf8"));
      assert.deepEqual(split(chunks), { lines: wanted, left: 0 });
    }),
  );
});

void test("lines are read from single-byte chunks", () => {
  const bytes = Buffer.from('{"a":"ü"}\n{"b":"🚢"}\nrest');
  assert.deepEqual(split([...bytes].map((byte) => Buffer.from([byte]))), {
    lines: ['{"a":"ü"}', '{"b":"🚢"}'],
    left: 4,
  });
});

void test("a line over the limit is rejected before it is complete", () => {
  const splitter = new LineSplitter(10);
  assert.deepEqual([...splitter.push(Buffer.from("0123456789\n"))].map(String), ["0123456789"]);
  assert.throws(() => [...splitter.push(Buffer.from("01234567890"))], /more than 10 bytes/);
});
