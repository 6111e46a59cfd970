/**
 * The bytes of a journal segment: lines of `<length> <checksum> <JSON>`, the first one a header.
 *
 * Length and checksum are of the JSON's bytes. JSON has no raw line break, so after damage the next line is found again. The checksum is CRC-32
 * as in zlib: the platform computes it in native code, and against torn and flipped bytes in lines of this size it is as good as any.
 */
import { crc32 } from "node:zlib";

const FORMAT = "deckhand-journal";
const VERSION = 1;
const LINE_BREAK = 0x0a;
const PREFIX = /^(\d{1,8}) ([0-9a-f]{8}) /;
const PREFIX_BYTES_MAX = 18;

export interface SegmentHeader {
  /** Everything before this segment is in it, as far as it still matters. */
  readonly base: boolean;
}

interface SegmentLine {
  readonly value: unknown;
  readonly bytes: Uint8Array;
}

export interface SegmentContent {
  /** "unknown" for a version that is not ours: its lines are not read. */
  readonly header: SegmentHeader | "missing" | "unknown";
  readonly lines: readonly SegmentLine[];
  /** Bytes before the last good line that are part of none. */
  readonly corruptBytes: number;
  /** Bytes after the last good line: what a crash left of a write. */
  readonly tornBytes: number;
  /** Where the next line goes. */
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

/** Undefined for what is none: by chance, or by a hand that also made the checksum fit. */
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
