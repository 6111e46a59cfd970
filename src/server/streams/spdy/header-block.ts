/**
 * Compresses the headers of new SPDY/3.1 streams. All header blocks of a connection form one zlib stream that declares
 * the SPDY/3 dictionary but need not use it. Each block is deflated without back references and ends on a byte
 * boundary, so the only state is whether the first one was sent. Received headers are never inflated: they are not
 * needed, and unread data cannot be a decompression bomb.
 */
import { constants, deflateRawSync } from "node:zlib";

/** 32 KB window, the flag "a dictionary is used", and the Adler-32 of the SPDY/3 dictionary. */
const ZLIB_HEAD = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);

/** Header names must be lower case. */
export function headerBlock(headers: Readonly<Record<string, string>>, first: boolean): Buffer {
  const entries = Object.entries(headers);
  const plain = Buffer.concat([
    uint32(entries.length),
    ...entries.flatMap(([name, value]) => [text(name), text(value)]),
  ]);
  const deflated = deflateRawSync(plain, { finishFlush: constants.Z_SYNC_FLUSH });
  return first ? Buffer.concat([ZLIB_HEAD, deflated]) : deflated;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "utf8");
  return Buffer.concat([uint32(bytes.length), bytes]);
}

export function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}
