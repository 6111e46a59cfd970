import assert from "node:assert/strict";
import { test } from "node:test";
import { CHUNK_LINE_BYTES_MAX, RESPONSE_HEAD_BYTES_MAX } from "../limits.ts";
import { BadResponse, ResponseReader } from "./http-response.ts";

const WANTED = 10_240;

/**
 * The result of reading the text in pieces of this size; undefined: the reader needs more. `ended`: the other side then
 * closes.
 */
function read(text: string, pieceBytes: number, ended: boolean, wanted = WANTED) {
  const reader = new ResponseReader(() => wanted);
  const bytes = Buffer.from(text, "latin1");
  const reported = () => ({ status: reader.head?.status, body: Buffer.from(reader.body).toString("latin1") });
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (reader.take(bytes.subarray(at, at + pieceBytes))) return reported();
  }
  if (!ended) return undefined;
  reader.end();
  return reported();
}

const OK = "HTTP/1.1 200 OK\r\n";

for (const [title, text, status, body, ended = false] of [
  ["a body of known length", `${OK}Content-Length: 4\r\n\r\ntold`, 200, "told"],
  ["a body with further bytes after it", `${OK}Content-Length: 4\r\n\r\ntold more`, 200, "told"],
  ["no body at all", `${OK}content-length:0\r\n\r\n`, 200, ""],
  ["a body until the connection ends", `${OK}X: y\r\n\r\ntold`, 200, "told", true],
  ["lines that end with LF only", "HTTP/1.1 200 OK\nContent-Length: 4\n\ntold", 200, "told"],
  ["a status without a reason phrase", "HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n", 503, ""],
  ["chunks", `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nto\r\n2;x=y\r\nld\r\n0\r\n\r\n`, 200, "told"],
  [
    "HTTP/1.0 that ignores Transfer-Encoding",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nab",
    200,
    "ab",
    true,
  ],
  ["an informational response first", `HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 1\r\n\r\nx`, 200, "x"],
  ["a switch of protocols", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", 101, ""],
  ["a status without a body (204)", "HTTP/1.1 204 None\r\n\r\n", 204, ""],
  ["a folded header", `${OK}X: a\r\n b\r\nContent-Length: 1\r\n\r\nx`, 200, "x"],
] as const) {
  test(`[12.3] response reader accepts ${title}, in chunks of any size`, () => {
    for (const pieceBytes of [1, 2, 7, 4096]) {
      assert.deepEqual(read(text, pieceBytes, ended), { status, body }, `${pieceBytes} bytes`);
    }
  });
}

const BROKEN = "net/http: HTTP/1.x transport connection broken: ";

for (const [title, text, reported, isBody] of [
  ["an SSH greeting", "SSH-2.0-server\r\n", `${BROKEN}malformed HTTP response "SSH-2.0-server"`, false],
  ["an unknown HTTP version", "ICY/1 200 OK\r\n", `${BROKEN}malformed HTTP version "ICY/1"`, false],
  ["a status that is not a number", "HTTP/1.1 fine\r\n", `${BROKEN}malformed HTTP status code "fine"`, false],
  ["a malformed header line", `${OK}words\r\n\r\n`, `${BROKEN}malformed MIME header line: words`, false],
  ["a negative Content-Length", `${OK}Content-Length: -1\r\n\r\n`, `${BROKEN}bad Content-Length "-1"`, false],
  [
    "two different Content-Lengths",
    `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
    `${BROKEN}bad Content-Length "1, 2"`,
    false,
  ],
  [
    "an unsupported transfer encoding",
    `${OK}Transfer-Encoding: gzip\r\n\r\n`,
    `${BROKEN}unsupported transfer encoding: "gzip"`,
    false,
  ],
  ["an empty response", "", "EOF", false],
  ["an incomplete header", `${OK}X:`, `${BROKEN}unexpected EOF`, false],
  ["an incomplete body", `${OK}Content-Length: 4\r\n\r\nto`, "unexpected EOF", true],
  ["an incomplete chunk", `${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nto`, "unexpected EOF", true],
  ["an invalid chunk length", `${OK}Transfer-Encoding: chunked\r\n\r\nwords\r\n`, "invalid byte in chunk length", true],
  [
    "a chunk longer than its length",
    `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\ntold\r\n`,
    "malformed chunked encoding",
    true,
  ],
] as const) {
  test(`[12.3] response reader rejects ${title} with Go's error message`, () => {
    for (const pieceBytes of [1, 4096]) {
      const refused = (error: unknown) =>
        error instanceof BadResponse && error.message === reported && error.isBody === isBody;
      assert.throws(() => read(text, pieceBytes, true), refused, `${pieceBytes} bytes`);
    }
  });
}

test("[12.3] response reader keeps only the wanted body bytes, and rejects an endless header", () => {
  const long = `${OK}\r\n${"x".repeat(100_000)}`;
  assert.equal(read(long, 4096, false)?.body.length, WANTED);
  assert.equal(read(long, 4096, false, 0)?.body, "");
  assert.throws(() => read(`${OK}X: ${"x".repeat(2_000_000)}`, 65_536, false), /response headers exceeded 65536 bytes/);
});

test("[12.3] response headers, informational responses included, may have exactly the limit", () => {
  const early = "HTTP/1.1 102 Processing\r\n\r\n".repeat(100);
  const head = `${OK}X: ${"x".repeat(RESPONSE_HEAD_BYTES_MAX - early.length - OK.length - "X: ".length)}`;
  for (const pieceBytes of [1, 3, 4096, 100_000]) {
    assert.equal(read(`${early}${head}\r\n\r\ntold`, pieceBytes, true)?.body, "told", `${pieceBytes} bytes`);
    assert.throws(
      () => read(`${early}${head}x\r\n\r\ntold`, pieceBytes, true),
      /response headers exceeded/,
      `${pieceBytes} bytes`,
    );
  }
  assert.throws(() => read("HTTP/1.1 102 Processing\r\n\r\n".repeat(10_000), 4096, false), /response headers exceeded/);
});

test("[12.3] a chunk header line may have exactly the limit, in chunks of any size", () => {
  const chunked = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
  const line = "4;".padEnd(CHUNK_LINE_BYTES_MAX, "x");
  for (const pieceBytes of [1, 3, 100_000]) {
    assert.equal(read(`${chunked}${line}\ntold\r\n0\r\n\r\n`, pieceBytes, false)?.body, "told", `${pieceBytes} bytes`);
    // Rejected before the end of the line has arrived.
    for (const end of ["", "\n"]) {
      const refused = (error: unknown) => error instanceof BadResponse && error.message === "header line too long";
      assert.throws(() => read(`${chunked}${line}x${end}`, pieceBytes, false), refused, `${pieceBytes} bytes`);
    }
  }
});

test("[12.3] reading headers byte by byte takes linear time", () => {
  const costOf = (bytesBefore: number) => {
    const reader = new ResponseReader(() => WANTED);
    reader.take(Buffer.from(`${OK}X: ${"x".repeat(bytesBefore)}`));
    const before = process.cpuUsage();
    for (let byte = 0; byte < 10_000; byte += 1) reader.take(Buffer.from("x"));
    return process.cpuUsage(before).user;
  };
  costOf(0);
  const [little, much] = [costOf(0), costOf(RESPONSE_HEAD_BYTES_MAX - 20_000)];
  // If each byte searched the head again, the second would cost a hundred times as much.
  assert.ok(much < 5 * little, `${much} and ${little} µs`);
});
