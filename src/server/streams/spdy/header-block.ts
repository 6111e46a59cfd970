/**
 * The headers of new SPDY/3.1 streams, compressed. All blocks of a connection are one zlib stream that names the dictionary of SPDY/3 and need not
 * use it: each is deflated without looking back and ends at a byte, so no state is kept beyond "the first has been sent". What the other side
 * sends is never inflated: nothing in its headers matters to us, and what is not read cannot blow up.
 */
import { constants, deflateRawSync } from "node:zlib";

/** 32 KB window, "a dictionary is used", and that dictionary's Adler-32. */
const ZLIB_HEAD = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);

/** Names in lower case. */
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
