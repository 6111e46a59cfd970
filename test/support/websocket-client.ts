/** A client's WebSocket upgrade request and frames. */
import { writeFrame } from "../../src/server/streams/websocket/frames.ts";

/** The headers of a WebSocket upgrade request, for clients that write their frames themselves. */
export const webSocket = (protocol: string) => ({
  Upgrade: "websocket",
  "Sec-WebSocket-Protocol": protocol,
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
});

/** A masked frame; `first` is its first byte. */
export function masked(first: number, payload: Uint8Array, mask = [0x12, 0x34, 0x56, 0x78]): Buffer {
  const plain = writeFrame(first & 0x0f, payload);
  const head = Buffer.from(plain.subarray(0, plain.length - payload.length));
  head[0] = first;
  head[1] = (head[1] ?? 0) | 0x80;
  const hidden = Buffer.from(payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
  return Buffer.concat([head, Buffer.from(mask), hidden]);
}
