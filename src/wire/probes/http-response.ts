/**
 * Parses the response to one GET as its bytes arrive: the head, then as much of the body as is wanted. It is as lenient
 * as Go's client and no more, and uses Go's error texts, because people search for them. Bytes are kept as characters
 * of one byte each.
 *
 * The head is bounded and searched once, however small its pieces are. No more of the body is kept than is wanted.
 */
import { goQuote } from "../../base/go-text.ts";
import { CHUNK_LINE_BYTES_MAX, RESPONSE_HEAD_BYTES_MAX } from "../limits.ts";

const BROKEN = "net/http: HTTP/1.x transport connection broken: ";

export interface AnswerHead {
  readonly status: number;
  readonly location: string | undefined;
}

/** The bytes are not a valid response. `isBody`: the head was valid. */
export class BadResponse extends Error {
  override readonly name = "BadResponse";
  readonly isBody: boolean;
  constructor(text: string, isBody: boolean) {
    super(text);
    this.isBody = isBody;
  }
}

type Framing =
  | { readonly kind: "length"; left: number }
  /** `left`: the rest of the current chunk, including the end of its line; 0 before the chunk's length is known. */
  | { readonly kind: "chunked"; left: number }
  | { readonly kind: "untilClosed" };

export class ResponseReader {
  readonly #bodyBytesMax: (head: AnswerHead) => number;
  #headText = new HeadText(RESPONSE_HEAD_BYTES_MAX);
  /** Bytes of the body that are not parsed yet. */
  #pending = "";
  #head: AnswerHead | undefined;
  #framing: Framing = { kind: "untilClosed" };
  #body = "";
  #wanted = 0;
  #isWhole = false;

  /** `bodyBytesMax`: how much of the body is wanted; called once the head is known. */
  constructor(bodyBytesMax: (head: AnswerHead) => number) {
    this.#bodyBytesMax = bodyBytesMax;
  }

  get head(): AnswerHead | undefined {
    return this.#head;
  }

  get body(): Uint8Array {
    return Buffer.from(this.#body.slice(0, this.#wanted), "latin1");
  }

  /** Returns whether everything that is wanted has arrived. Throws a `BadResponse`. */
  take(chunk: Buffer): boolean {
    let text = chunk.toString("latin1");
    while (this.#head === undefined) {
      const rest = this.#readHead(text);
      if (rest === undefined) return false;
      text = rest;
    }
    this.#pending += text;
    this.#readBody();
    return this.#isWhole || this.#body.length >= this.#wanted;
  }

  /** No more bytes will arrive. Throws a `BadResponse` if the response is incomplete. */
  end(): void {
    if (this.#head === undefined) {
      throw new BadResponse(this.#headText.length === 0 ? "EOF" : `${BROKEN}unexpected EOF`, false);
    }
    if (this.#framing.kind !== "untilClosed" && !this.#isWhole) throw new BadResponse("unexpected EOF", true);
  }

  /** Returns what follows a head, once that head is complete. */
  #readHead(text: string): string | undefined {
    const rest = this.#headText.take(text);
    if (rest === undefined) return undefined;
    const [first = "", ...lines] = this.#headText.text.split(/\r?\n/);
    const { status, isOld } = statusOf(first);
    if (status >= 100 && status < 200 && status !== 101) {
      this.#headText = new HeadText(this.#headText.bytesLeft);
      return rest;
    }
    const headers = headersOf(lines);
    this.#head = { status, location: headers.get("location")?.[0] };
    this.#wanted = this.#bodyBytesMax(this.#head);
    this.#framing = framingOf(status, headers, isOld);
    return rest;
  }

  #readBody(): void {
    switch (this.#framing.kind) {
      case "untilClosed":
        this.#keep(this.#pending);
        this.#pending = "";
        return;
      case "length": {
        const text = this.#pending.slice(0, this.#framing.left);
        this.#framing.left -= text.length;
        this.#keep(text);
        this.#pending = "";
        this.#isWhole = this.#framing.left === 0;
        return;
      }
      case "chunked":
        this.#readChunks(this.#framing);
    }
  }

  #readChunks(framing: Extract<Framing, { kind: "chunked" }>): void {
    while (this.#pending !== "") {
      if (framing.left === 0 && !this.#beginChunk(framing)) return;
      const data = this.#pending.slice(0, Math.max(0, framing.left - 2));
      this.#keep(data);
      const rest = this.#pending.slice(data.length);
      framing.left -= data.length;
      const closing = rest.slice(0, framing.left);
      if (!"\r\n".slice(-framing.left).startsWith(closing)) {
        throw new BadResponse("malformed chunked encoding", true);
      }
      framing.left -= closing.length;
      this.#pending = rest.slice(closing.length);
    }
  }

  /** Returns whether there is a chunk to read. */
  #beginChunk(framing: Extract<Framing, { kind: "chunked" }>): boolean {
    const lineEnd = this.#pending.indexOf("\n");
    if ((lineEnd < 0 ? this.#pending.length : lineEnd) > CHUNK_LINE_BYTES_MAX) {
      throw new BadResponse("header line too long", true);
    }
    if (lineEnd < 0) return false;
    const [size = ""] = withoutReturn(this.#pending.slice(0, lineEnd)).split(";", 1);
    if (!/^[0-9a-fA-F]{1,16}$/.test(size.trimEnd())) throw new BadResponse("invalid byte in chunk length", true);
    this.#pending = this.#pending.slice(lineEnd + 1);
    const bytes = Number.parseInt(size, 16);
    this.#isWhole = bytes === 0;
    if (this.#isWhole) return false;
    framing.left = bytes + 2;
    return true;
  }

  #keep(text: string): void {
    if (this.#body.length < this.#wanted) this.#body += text;
  }
}

/** This many small pieces are kept before they are joined. */
const PIECES_MAX = 256;
/** The part of a head's end that can stand before the piece that completes it. */
const END_CHARS_MAX = 3;

/** The head as far as it has arrived. As in Go, heads of informational responses before it count towards the bound. */
class HeadText {
  readonly #bytesMax: number;
  #pieces: string[] = [];
  #length = 0;
  #tail = "";
  #hasStatus = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytesLeft(): number {
    return this.#bytesMax - this.#length;
  }

  get length(): number {
    return this.#length;
  }

  get text(): string {
    return this.#pieces.join("");
  }

  /**
   * Returns what follows the head, once the head is complete; `text` is then without its last line end. Throws a
   * `BadResponse`.
   */
  take(piece: string): string | undefined {
    const searched = this.#tail + piece;
    const end = /\r?\n\r?\n/.exec(searched);
    this.#add(piece);
    if (!this.#hasStatus && piece.includes("\n")) this.#checkStatus();
    // The text so far may end in a part of the head's end.
    const excess = end === null ? END_CHARS_MAX : searched.length - end.index;
    if (this.#length - excess > this.#bytesMax) {
      const detail = `net/http: server response headers exceeded ${RESPONSE_HEAD_BYTES_MAX} bytes; aborted`;
      throw new BadResponse(detail, false);
    }
    if (end === null) {
      this.#tail = searched.slice(-END_CHARS_MAX);
      return undefined;
    }
    this.#pieces = [this.text.slice(0, this.#length - excess)];
    this.#length -= searched.length - end.index - end[0].length;
    return searched.slice(end.index + end[0].length);
  }

  #add(piece: string): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#pieces.length > PIECES_MAX) this.#pieces = [this.text];
  }

  /** Checked as soon as the first line is complete: a server of another protocol may never send a second one. */
  #checkStatus(): void {
    this.#hasStatus = true;
    const { text } = this;
    statusOf(withoutReturn(text.slice(0, text.indexOf("\n"))));
  }
}

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);

function statusOf(line: string): { readonly status: number; readonly isOld: boolean } {
  const space = line.indexOf(" ");
  if (space < 0) throw new BadResponse(`${BROKEN}malformed HTTP response ${goQuote(line)}`, false);
  const [version, code = ""] = [
    line.slice(0, space),
    line
      .slice(space + 1)
      .trimStart()
      .split(" ", 1)[0],
  ];
  if (!/^[0-9]{3}$/.test(code)) throw new BadResponse(`${BROKEN}malformed HTTP status code ${goQuote(code)}`, false);
  if (!/^HTTP\/[0-9]\.[0-9]$/.test(version)) {
    throw new BadResponse(`${BROKEN}malformed HTTP version ${goQuote(version)}`, false);
  }
  return { status: Number(code), isOld: version === "HTTP/1.0" };
}

/** Keyed by lower-case name. */
function headersOf(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const headers = new Map<string, string[]>();
  let values: string[] | undefined;
  for (const line of lines) {
    if (/^[ \t]/.test(line) && values !== undefined) {
      values.push(`${values.pop() ?? ""} ${line.trim()}`);
      continue;
    }
    const [, name, value] = /^([^\s:]+):(.*)$/s.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new BadResponse(`${BROKEN}malformed MIME header line: ${line}`, false);
    }
    values = headers.get(name.toLowerCase()) ?? [];
    values.push(value.trim());
    headers.set(name.toLowerCase(), values);
  }
  return headers;
}

function framingOf(status: number, headers: ReadonlyMap<string, readonly string[]>, isOld: boolean): Framing {
  if (status === 101 || status === 204 || status === 304) return { kind: "length", left: 0 };
  const [encoding] = headers.get("transfer-encoding") ?? [];
  if (encoding !== undefined && !isOld) {
    if (encoding.toLowerCase() === "chunked") return { kind: "chunked", left: 0 };
    throw new BadResponse(`${BROKEN}unsupported transfer encoding: ${goQuote(encoding)}`, false);
  }
  const lengths = new Set(headers.get("content-length"));
  const [length] = lengths;
  if (length === undefined) return { kind: "untilClosed" };
  if (lengths.size > 1 || !/^[0-9]{1,15}$/.test(length)) {
    throw new BadResponse(`${BROKEN}bad Content-Length ${goQuote([...lengths].join(", "))}`, false);
  }
  return { kind: "length", left: Number(length) };
}
