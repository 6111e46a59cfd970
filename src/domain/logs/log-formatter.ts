/**
 * Formats the bytes of a log as its reader requests them: without the prefixes of lines, or with their times. The
 * reader may select one stream, a start time, and a limit of lines or bytes. Bytes come in as they are read, and each
 * call returns one piece of output. The output does not depend on how the input is cut. Lines that cannot be parsed are
 * left out and counted.
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
  /** May be infinite, like `linesMax`. */
  readonly bytesMax: number;
  /** Counts lines of the log, whether they are shown or not. */
  readonly linesMax: number;
}

type State =
  | { readonly kind: "open" }
  /** All output that was requested has been returned. */
  | { readonly kind: "done" }
  /** The input is not a log. */
  | { readonly kind: "failed"; readonly why: string };

export class LogFormatter {
  state: State = { kind: "open" };
  linesLeftOut = 0;
  readonly #view: LogView;
  #parser: LineParser | undefined;
  #bytesLeft: number;
  #linesLeft: number;
  #isNewLine = true;
  /** Inside a line that is too long to buffer: whether the rest of it is shown. */
  #longLine: { readonly isShown: boolean; readonly isPartial: boolean } | undefined;
  #out = new Uint8Array();
  #length = 0;

  constructor(view: LogView) {
    this.#view = view;
    this.#bytesLeft = view.bytesMax;
    this.#linesLeft = view.linesMax;
    if (view.linesMax === 0) this.state = { kind: "done" };
  }

  /** Processes all complete lines. `used` bytes are done; the caller passes the rest again with what follows it. */
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

  /** Processes the beginning of a line without a line feed that is too long to wait for the rest. */
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

  /** Processes a last line that has no line feed and will not get one. */
  takeRest(bytes: Uint8Array): Uint8Array {
    this.#begin(bytes.length);
    const at = this.#takeLongLine(bytes);
    if (this.state.kind === "open" && at < bytes.length) this.#takeLine(bytes, at, bytes.length);
    return this.#taken();
  }

  /** A log that was replaced starts over: a part of a line is not continued. */
  beginFile(): void {
    this.#longLine = undefined;
  }

  /** Returns where the next line begins. */
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

  /** The first line determines the format of all lines. */
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

  /** Counts `written` bytes that were appended to the output, up to the limit. */
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

  /** The caller owns the output, so each call has its own buffer. */
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
