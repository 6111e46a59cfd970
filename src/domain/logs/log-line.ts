/**
 * Parses one line of a log in one of the two formats. A parser is reused for line after line; that of the CRI format
 * makes no object for a line.
 */
import { isJsonObject } from "../../base/json-equal.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import { LogTimeReader } from "./log-time.ts";

const [LINE_FEED, SPACE, COLON] = [0x0a, 0x20, 0x3a];
const PARTIAL = 0x50;

export type LogStream = "stdout" | "stderr";

export interface LineParser {
  /**
   * Whether the line from `start` to before `end`, with its line feed if it has one, can be parsed; the fields then
   * contain it.
   */
  parse(bytes: Uint8Array, start: number, end: number): boolean;
  readonly time: LogTimeReader;
  /** As the line names it: the caller rejects an unknown stream. */
  readonly stream: string;
  /** The bytes that were written are a part of `content`. */
  readonly content: Uint8Array;
  readonly contentStart: number;
  readonly contentEnd: number;
}

const isText = (bytes: Uint8Array, at: number, text: readonly number[]): boolean => {
  for (let index = 0; index < text.length; index += 1) if (bytes[at + index] !== text[index]) return false;
  return true;
};
const STDOUT = [...utf8Bytes("stdout ")];
const STDERR = [...utf8Bytes("stderr ")];

/** `2016-10-06T00:17:09.669794202Z stdout F what was written`. `P` instead of `F`: the next line continues this one. */
export class CriLineParser implements LineParser {
  readonly time = new LogTimeReader();
  stream: LogStream = "stdout";
  content: Uint8Array = new Uint8Array();
  contentStart = 0;
  contentEnd = 0;
  isPartial = false;

  parse(bytes: Uint8Array, start: number, end: number): boolean {
    const { time } = this;
    if (!time.read(bytes, start, end) || time.end >= end || bytes[time.end] !== SPACE) return false;
    const streamAt = time.end + 1;
    const tagAt = streamAt + STDOUT.length;
    if (tagAt > end) return false;
    if (isText(bytes, streamAt, STDOUT)) this.stream = "stdout";
    else if (isText(bytes, streamAt, STDERR)) this.stream = "stderr";
    else return false;
    const tagEnd = bytes.indexOf(SPACE, tagAt);
    if (tagEnd < 0 || tagEnd >= end) return false;
    // More tags may follow the first.
    this.isPartial = bytes[tagAt] === PARTIAL && (tagEnd === tagAt + 1 || bytes[tagAt + 1] === COLON);
    this.content = bytes;
    this.contentStart = tagEnd + 1;
    this.contentEnd = this.isPartial && bytes[end - 1] === LINE_FEED ? end - 1 : end;
    return true;
  }
}

/** The time of a line that has none. */
const ZERO_TIME = "0001-01-01T00:00:00Z";

/** `{"log":"what was written\n","stream":"stdout","time":"2016-10-20T18:39:20.57606443Z"}`. */
class DockerLineParser implements LineParser {
  readonly time = new LogTimeReader();
  stream = "";
  content: Uint8Array = new Uint8Array();
  readonly contentStart = 0;
  contentEnd = 0;

  parse(bytes: Uint8Array, start: number, end: number): boolean {
    const line = parsedJson(bytes.subarray(start, end));
    if (!isJsonObject(line)) return false;
    const [log, stream, time] = [line["log"] ?? "", line["stream"] ?? "", line["time"] ?? ZERO_TIME];
    if (typeof log !== "string" || typeof stream !== "string" || typeof time !== "string") return false;
    const at = utf8Bytes(time);
    if (!this.time.read(at, 0, at.length) || this.time.end !== at.length) return false;
    this.stream = stream;
    this.content = utf8Bytes(log);
    this.contentEnd = this.content.length;
    return true;
  }
}

function parsedJson(bytes: Uint8Array): unknown {
  const text = utf8Text(bytes);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // A line that cannot be read, like any other.
  }
}

/** The parser for the format of this line; undefined for an unknown format. */
export function parserFor(bytes: Uint8Array, start: number, end: number): LineParser | undefined {
  return [new CriLineParser(), new DockerLineParser()].find((parser) => parser.parse(bytes, start, end));
}
