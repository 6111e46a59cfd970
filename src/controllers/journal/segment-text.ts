/**
 * Encodes and decodes journal segments: lines of `<length> <checksum> <JSON>`, the first of which is a header.
 *
 * Length and checksum cover the bytes of the JSON. JSON contains no raw line break, so the next line is found again
 * after damage. The checksum is zlib's CRC-32: Node.js computes it natively, and for lines of this size it detects torn
 * and flipped bytes well enough.
 */
import { crc32 } from "node:zlib";

const FORMAT = "deckhand-journal";
const VERSION = 1;
const LINE_BREAK = 0x0a;
const PREFIX = /^(\d{1,8}) ([0-9a-f]{8}) /;
const PREFIX_BYTES_MAX = 18;

export interface SegmentHeader {
  /** True if this segment contains everything from earlier segments that still matters. */
  readonly base: boolean;
}

interface SegmentLine {
  readonly value: unknown;
  readonly bytes: Uint8Array;
}

export interface SegmentContent {
  /** "unknown" for a version that this code does not support: the caller must not use the lines. */
  readonly header: SegmentHeader | "missing" | "unknown";
  readonly lines: readonly SegmentLine[];
  /** Bytes before the last good line that belong to no line. */
  readonly corruptBytes: number;
  /** Bytes after the last good line: the remains of a write that a crash interrupted. */
  readonly tornBytes: number;
  /** The offset of the next line. */
  readonly endBytes: number;
}

export function encodeLine(value: unknown): Uint8Array {
  const json = Buffer.from(JSON.stringify(value));
  const prefix = `${json.length} ${crc32(json).toString(16).padStart(8, "0")} `;
  return Buffer.concat([Buffer.from(prefix), json, Buffer.of(LINE_BREAK)]);
}

export const encodeHeader = ({ base }: SegmentHeader) => encodeLine({ format: FORMAT, version: VERSION, base });

export function decodeSegment(content: Uint8Array): SegmentContent {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  const lines: SegmentLine[] = [];
  let corruptBytes = 0;
  let endBytes = 0;
  for (let place = 0; place < bytes.length; ) {
    const line = lineAt(bytes, place);
    if (line === undefined) {
      const lineBreak = bytes.indexOf(LINE_BREAK, place);
      place = lineBreak === -1 ? bytes.length : lineBreak + 1;
      continue;
    }
    lines.push(line);
    corruptBytes += place - endBytes;
    place += line.bytes.length;
    endBytes = place;
  }
  const header = headerOf(lines[0]?.value);
  const tornBytes = bytes.length - endBytes;
  return { header, lines: header === "missing" ? lines : lines.slice(1), corruptBytes, tornBytes, endBytes };
}

function lineAt(bytes: Buffer, place: number): SegmentLine | undefined {
  const prefix = PREFIX.exec(bytes.toString("latin1", place, place + PREFIX_BYTES_MAX));
  if (prefix === null) return undefined;
  const start = place + prefix[0].length;
  const end = start + Number(prefix[1]);
  const json = bytes.subarray(start, end);
  if (bytes[end] !== LINE_BREAK || crc32(json) !== Number.parseInt(prefix[2] ?? "", 16)) return undefined;
  const value = parseJson(json.toString());
  return value === undefined ? undefined : { value, bytes: bytes.subarray(place, end + 1) };
}

/** Undefined for invalid JSON, whose checksum matched by chance or was forged. */
function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function headerOf(value: unknown): SegmentContent["header"] {
  if (typeof value !== "object" || value === null || !("format" in value) || value.format !== FORMAT) return "missing";
  const isOurs = "version" in value && value.version === VERSION && "base" in value && typeof value.base === "boolean";
  return isOurs ? { base: value.base === true } : "unknown";
}
