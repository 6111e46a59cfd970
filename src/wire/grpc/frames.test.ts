import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameReader, frame } from "./frames.ts";
import { RpcError } from "./rpc-channel.ts";

const bytes = (...values: number[]) => Buffer.from(values);

test("FrameReader returns whole messages for any chunk size", () => {
  const messages = [bytes(1, 2, 3), bytes(), bytes(...Array.from({ length: 300 }, (_, index) => index % 256))];
  const stream = Buffer.concat(messages.map((message) => frame(message)));
  for (let size = 1; size <= stream.length; size += 1) {
    const reader = new FrameReader(300);
    const read: Buffer[] = [];
    for (let at = 0; at < stream.length; at += size) read.push(...reader.read(stream.subarray(at, at + size)));
    assert.deepEqual(read, messages, `in chunks of ${size}`);
  }
});

test("FrameReader rejects an oversized and a compressed message by their headers", () => {
  const refused = (code: number) => (error: unknown) => error instanceof RpcError && error.code === code;
  assert.throws(() => new FrameReader(2).read(bytes(0, 0, 0, 0, 3)), refused(8));
  assert.throws(() => new FrameReader(2).read(bytes(1, 0, 0, 0, 1)), refused(13));
});
