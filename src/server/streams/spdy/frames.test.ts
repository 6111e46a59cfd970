import assert from "node:assert/strict";
import { test } from "node:test";
import { constants, inflateRawSync } from "node:zlib";
import * as fc from "fast-check";
import { SPDY_CONTROL_BYTES_MAX } from "../../limits.ts";
import { controlFrame, dataHead, type SpdyEvent, SpdyFault, SpdyReader, TYPE } from "./frames.ts";
import { headerBlock, uint32 } from "./header-block.ts";

const readAll = (chunks: readonly Uint8Array[]): readonly SpdyEvent[] => {
  const reader = new SpdyReader();
  return chunks.flatMap((chunk) => [...reader.read(chunk)]);
};

/** Joins data that was split into chunks. */
function joined(events: readonly SpdyEvent[]): readonly string[] {
  const out: string[] = [];
  const data = new Map<number, string>();
  for (const event of events) {
    if (event.kind === "data") data.set(event.stream, (data.get(event.stream) ?? "") + event.bytes.toString("latin1"));
    else if (event.kind === "finished") out.push(`${event.stream} finished after ${data.get(event.stream) ?? ""}`);
    else out.push(`control ${event.type} ${event.flags} ${event.payload.toString("hex")}`);
  }
  return out;
}

void test("[20.8] frames are read alike however the connection splits them, empty ones too", () => {
  const bytes = Buffer.concat([
    controlFrame(TYPE.synReply, uint32(1), Buffer.from("head")),
    dataHead(3, 5, false),
    Buffer.from("hello"),
    controlFrame(TYPE.ping, uint32(2)),
    dataHead(3, 6, true),
    Buffer.from(" world"),
    dataHead(5, 0, true),
    controlFrame(TYPE.goAway, uint32(0, 0)),
  ]);
  const whole = joined(readAll([bytes]));
  assert.deepEqual(whole, [
    `control 2 0 00000001${Buffer.from("head").toString("hex")}`,
    "control 6 0 00000002",
    "3 finished after hello world",
    "5 finished after ",
    "control 7 0 0000000000000000",
  ]);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      assert.deepEqual(joined(readAll(at.slice(1).map((end, index) => bytes.subarray(at[index], end)))), whole);
    }),
  );
});

void test("header blocks are one zlib stream with the dictionary of SPDY/3, each readable when received", () => {
  const blocks = ["error", "stdin", "stdout"].map((streamtype, index) => headerBlock({ streamtype }, index === 0));
  const head = blocks[0]?.subarray(0, 6).toString("hex");
  // 0x78bb: deflate with a 32 KB window and the flag "a dictionary is used"; zlib requires a multiple of 31. Then the
  // dictionary's checksum.
  assert.equal(head, "78bbe3c6a7c2");
  assert.equal(0x78bb % 31, 0);
  const raw = Buffer.concat(blocks).subarray(6);
  const plain = inflateRawSync(raw, { finishFlush: constants.Z_SYNC_FLUSH });
  const one = (value: string) =>
    Buffer.concat([uint32(1), uint32(10), Buffer.from("streamtype"), uint32(value.length), Buffer.from(value)]);
  assert.ok(plain.equals(Buffer.concat([one("error"), one("stdin"), one("stdout")])));
  // Each block ends with an empty deflate block, which makes the receiver output everything it has.
  for (const block of blocks) assert.equal(block.subarray(-4).toString("hex"), "0000ffff");
});

void test("a control frame of another version, or too long to buffer, is a fault", () => {
  assert.throws(() => readAll([Buffer.from([0x80, 2, 0, 1, 0, 0, 0, 0])]), SpdyFault);
  const whole = controlFrame(TYPE.headers, Buffer.alloc(SPDY_CONTROL_BYTES_MAX));
  assert.equal(readAll([whole]).length, 1);
  // The frame's head alone is rejected: nothing of its payload is buffered.
  const head = controlFrame(TYPE.headers, Buffer.alloc(SPDY_CONTROL_BYTES_MAX + 1)).subarray(0, 8);
  assert.throws(() => readAll([head]), { name: "SpdyFault", message: "a control frame too long" });
});

void test("arbitrary bytes are events or a SpdyFault, never another error", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 100 })), (chunks) => {
      try {
        readAll(chunks);
      } catch (error) {
        assert.ok(error instanceof SpdyFault, String(error));
      }
    }),
  );
});
