import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { masked } from "../../../../test/support/websocket-client.ts";
import { WEBSOCKET_MESSAGE_BYTES_MAX } from "../../limits.ts";
import { CLOSE, type Frame, FrameReader, OPCODE, WebSocketFault, writeFrame } from "./frames.ts";

const readAll = (reader: FrameReader, chunks: readonly Uint8Array[]): readonly Frame[] =>
  chunks.flatMap((chunk) => [...reader.read(chunk)]);

const BINARY = 0x82;

void test("[20.9] frames of a client are read whole however the connection splits them", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(1_500), { maxLength: 12 }),
      (payloads, cuts) => {
        const bytes = Buffer.concat(payloads.map((payload) => masked(BINARY, payload)));
        const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        const frames = readAll(new FrameReader(), chunks);
        assert.deepEqual(
          frames.map(({ payload }) => [...payload]),
          payloads.map((payload) => [...payload]),
        );
      },
    ),
  );
});

void test("payload lengths of all three encodings are read, up to the longest allowed", () => {
  for (const length of [0, 125, 126, 65_535, 65_536, WEBSOCKET_MESSAGE_BYTES_MAX]) {
    const payload = Buffer.alloc(length, 7);
    const [frame] = readAll(new FrameReader(), [masked(BINARY, payload)]);
    assert.equal(frame?.payload.length, length);
    assert.ok(frame.payload.equals(payload));
  }
});

const hostile: readonly (readonly [string, Buffer, number])[] = [
  ["without a mask", writeFrame(OPCODE.binary, Buffer.from("x")), CLOSE.protocolError],
  ["compressed without negotiation", masked(0xc2, Buffer.from("x")), CLOSE.protocolError],
  ["of an unknown opcode", masked(0x83, Buffer.from("x")), CLOSE.protocolError],
  ["of an unknown control opcode", masked(0x8b, Buffer.from("x")), CLOSE.protocolError],
  ["that is a fragmented ping", masked(0x09, Buffer.from("x")), CLOSE.protocolError],
  ["that is a ping too long", masked(0x89, Buffer.alloc(126)), CLOSE.protocolError],
  [
    "one byte above the limit",
    masked(BINARY, Buffer.alloc(WEBSOCKET_MESSAGE_BYTES_MAX + 1)).subarray(0, 20),
    CLOSE.tooBig,
  ],
  ["of 2^63 bytes", Buffer.from([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]), CLOSE.tooBig],
  ["of 2^53 bytes", Buffer.from([0x82, 0xff, 0, 0x20, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]), CLOSE.tooBig],
];
for (const [what, bytes, code] of hostile) {
  void test(`a frame ${what} is a fault with code ${code}`, () => {
    assert.throws(
      () => readAll(new FrameReader(), [bytes]),
      (error) => error instanceof WebSocketFault && error.code === code,
    );
  });
}

void test("arbitrary bytes are frames or a WebSocketFault, never another error", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 })), (chunks) => {
      try {
        readAll(new FrameReader(), chunks);
      } catch (error) {
        assert.ok(error instanceof WebSocketFault, String(error));
      }
    }),
  );
});

void test("a long frame that arrives byte by byte costs linear time", () => {
  const bytes = masked(BINARY, Buffer.alloc(WEBSOCKET_MESSAGE_BYTES_MAX, 1));
  const reader = new FrameReader();
  let frames = 0;
  const started = process.cpuUsage();
  for (let at = 0; at < bytes.length; at += 1) frames += [...reader.read(bytes.subarray(at, at + 1))].length;
  assert.equal(frames, 1);
  // Copying all bytes again for each one would move 500 GB and take minutes.
  assert.ok(process.cpuUsage(started).user < 20_000_000);
});
