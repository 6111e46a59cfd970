/**
 * A log's bytes as its reader wants them: without the heads of the lines, or with their times; of one stream or both; not before a moment; not
 * more than so many lines or bytes. Bytes come in as they are read and leave in one piece per call. What comes out is the same however they
 * were cut. Lines that cannot be read are left out and counted.
 */
import { assert } from "../../base/assert.ts";
import { goQuote, goQuoteBytes } from "../../base/go-text.ts";
import { CriLineParser, type LineParser, type LogStream, parserFor } from "./log-line.ts";
import { isBefore, type LogTime, TIME_BYTES_MAX } from "./log-time.ts";

const [LINE_FEED, SPACE] = [0x0a, 0x20];

export interface LogView {
  readonly timestamps: boolean;
  readonly since: LogTime | undefined;
  readonly streams: ReadonlySet<LogStream>;
  /** May be infinite, as may the other. */
  readonly bytesMax: number;
  /** Of the log, whether they are shown or not. */
  readonly linesMax: number;
}

type State =
  | { readonly kind: "open" }
  /** All that was wanted has come out. */
  | { readonly kind: "done" }
  /** What lies there is no log. */
  | { readonly kind: "failed"; readonly why: string };

export class LogFormatter {
  state: State = { kind: "open" };
  linesLeftOut = 0;
  readonly #view: LogView;
  #parser: LineParser | undefined;
  #bytesLeft: number;
  #linesLeft: number;
  #isNewLine = true;
  /** Inside of a line too long to be held: whether what is left of it is shown. */
  #longLine: { readonly isShown: boolean; readonly isPartial: boolean } | undefined;
  #out = new Uint8Array();
  #length = 0;

  constructor(view: LogView) {
    this.#view = view;
    this.#bytesLeft = view.bytesMax;
    this.#linesLeft = view.linesMax;
    if (view.linesMax === 0) this.state = { kind: "done" };
  }

  /** Takes all whole lines; `used` bytes are done with, the rest is to come again with what follows it. */
  take(bytes: Uint8Array): { readonly used: number; readonly output: Uint8Array } {
    this.#begin(bytes.length);
    let at = this.#takeLongLine(bytes);
    while (this.state.kind === "open") {
      const end = bytes.indexOf(LINE_FEED, at) + 1;
      if (end === 0) break;
      this.#takeLine(bytes, at, end);
      at = end;
    }
    return { used: at, output: this.#taken() };
  }

  /** Takes bytes without a line feed that are not the whole line, too many of them to wait for the rest. */
  takeLong(bytes: Uint8Array): Uint8Array {
    assert(this.#longLine === undefined, "two lines at once");
    this.#begin(bytes.length);
    const parser = this.#parserFor(bytes, 0, bytes.length);
    if (parser === undefined) return this.#taken();
    const isRead = parser instanceof CriLineParser && parser.parse(bytes, 0, bytes.length);
    const isShown = isRead && this.#isWanted(parser);
    if (isShown) this.#write(parser);
    if (!isRead) this.linesLeftOut += 1;
    this.#longLine = { isShown, isPartial: isRead && parser.isPartial };
    return this.#taken();
  }

  /** Takes a last line that has no end, and will not get one. */
  takeRest(bytes: Uint8Array): Uint8Array {
    this.#begin(bytes.length);
    const at = this.#takeLongLine(bytes);
    if (this.state.kind === "open" && at < bytes.length) this.#takeLine(bytes, at, bytes.length);
    return this.#taken();
  }

  /** A log that was replaced begins anew: what was a part of a line is not continued. */
  beginFile(): void {
    this.#longLine = undefined;
  }

  /** Answers where the next line begins. */
  #takeLongLine(bytes: Uint8Array): number {
    const line = this.#longLine;
    if (line === undefined) return 0;
    const end = bytes.indexOf(LINE_FEED) + 1;
    const shownEnd = end === 0 ? bytes.length : line.isPartial ? end - 1 : end;
    if (line.isShown) this.#append(bytes, 0, shownEnd);
    if (end === 0) return bytes.length;
    this.#longLine = undefined;
    this.#isNewLine = !line.isPartial;
    this.#countLine();
    return end;
  }

  #takeLine(bytes: Uint8Array, start: number, end: number): void {
    const parser = this.#parserFor(bytes, start, end);
    if (parser === undefined) return;
    if (!parser.parse(bytes, start, end)) {
      this.linesLeftOut += 1;
      return;
    }
    if (this.#isWanted(parser)) this.#write(parser);
    const { content, contentStart, contentEnd } = parser;
    this.#isNewLine = contentEnd === contentStart || content[contentEnd - 1] === LINE_FEED;
    this.#countLine();
  }

  /** The first line decides for all. */
  #parserFor(bytes: Uint8Array, start: number, end: number): LineParser | undefined {
    this.#parser ??= parserFor(bytes, start, end);
    if (this.#parser === undefined) {
      const line = goQuoteBytes(bytes.subarray(start, end));
      this.state = { kind: "failed", why: `failed to get parse function: unsupported log format: ${line}` };
    }
    return this.#parser;
  }

  #isWanted({ time, stream }: LineParser): boolean {
    const { since, streams } = this.#view;
    if (since !== undefined && isBefore(time, since)) return false;
    if (stream === "stdout" || stream === "stderr") return streams.has(stream);
    this.state = { kind: "failed", why: `unexpected stream type ${goQuote(stream)}` };
    return false;
  }

  #write({ time, content, contentStart, contentEnd }: LineParser): void {
    if (this.#view.timestamps && this.#isNewLine) {
      this.#reserve(TIME_BYTES_MAX + 1);
      const start = this.#length;
      const end = time.write(this.#out, start);
      this.#out[end] = SPACE;
      this.#count(end + 1 - start);
    }
    this.#append(content, contentStart, contentEnd);
  }

  #append(bytes: Uint8Array, start: number, end: number): void {
    if (this.state.kind !== "open") return;
    this.#reserve(end - start);
    this.#out.set(bytes.subarray(start, end), this.#length);
    this.#count(end - start);
  }

  /** So many bytes were put behind the output: all of them count that there is still room for. */
  #count(written: number): void {
    const kept = Math.min(written, this.#bytesLeft);
    this.#length += kept;
    this.#bytesLeft -= kept;
    if (this.#bytesLeft <= 0) this.state = { kind: "done" };
  }

  #countLine(): void {
    this.#linesLeft -= 1;
    if (this.#linesLeft <= 0 && this.state.kind === "open") this.state = { kind: "done" };
  }

  /** What leaves is the caller's: each call has an output of its own. */
  #begin(bytes: number): void {
    this.#out = new Uint8Array(bytes);
    this.#length = 0;
  }

  #taken(): Uint8Array {
    return this.#out.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#out.length) return;
    const larger = new Uint8Array(Math.max(this.#out.length + (this.#out.length >> 2), this.#length + bytes));
    larger.set(this.#taken());
    this.#out = larger;
  }
}
