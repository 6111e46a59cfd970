import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LOG_ITEMS_MAX, LOG_LINE_CHARS_MAX, LOG_TEXT_BYTES_MAX } from "../limits.ts";
import { maskText, maskValue } from "./mask.ts";

const MEGABYTE = 1_000_000;

describe("masking untrusted text", () => {
  for (const piece of [
    "a.",
    "a-",
    "-eyJ",
    "eyJaaaaaa.",
    "-eyJ.",
    "-eyJ.a.",
    "a-b.c.",
    ".eyJaaaaaa",
    "a://a:",
    "a:b:",
    " ",
    "Bearer ",
    "-----BEGIN ",
    "-----END ",
    "A ",
    'token=" ',
    '\\"auth\\"  :  ',
    "\u{1f600}",
  ]) {
    test(`a megabyte of ${JSON.stringify(piece)} takes less than 50 ms of CPU`, () => {
      const text = piece.repeat(MEGABYTE / piece.length);
      const before = process.cpuUsage();
      const masked = maskText(text);
      const tookMs = process.cpuUsage(before).user / 1000;
      assert.ok(tookMs < 50, `${tookMs} ms`);
      assert.ok(Buffer.byteLength(masked) < LOG_TEXT_BYTES_MAX + 50, `${masked.length} characters`);
    });
  }

  test("text over the limit is cut with its length, and text of exactly the limit is not", () => {
    assert.equal(maskText("x".repeat(LOG_TEXT_BYTES_MAX)), "x".repeat(LOG_TEXT_BYTES_MAX));
    assert.equal(
      maskText("x".repeat(LOG_TEXT_BYTES_MAX + 1)),
      `${"x".repeat(LOG_TEXT_BYTES_MAX)}... (cut, ${LOG_TEXT_BYTES_MAX + 1} characters)`,
    );
  });

  test("a token is masked after hyphens and other delimiters", () => {
    const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl";
    for (const before of ["", "-", "id-", "a-b-", "x.", "=", '"']) {
      assert.equal(maskText(`${before}${token} end`), `${before}<masked> end`);
    }
  });

  test("a credential that crosses the cut is masked", () => {
    const before = "x".repeat(LOG_TEXT_BYTES_MAX - 20);
    assert.ok(
      !maskText(`${before} https://ada:hunter2hunter2hunter2@registry.example/ ${"y".repeat(100)}`).includes("hunter2"),
    );
    assert.ok(!maskText(`${before} Bearer ${"s3cr3t".repeat(50)}`).includes("s3cr3t"));
  });
});

test("a line's items and text are bounded", () => {
  const texts = Array.from({ length: 2 * LOG_ITEMS_MAX }, () => "x".repeat(LOG_TEXT_BYTES_MAX));
  const line = JSON.stringify(maskValue({ texts, map: new Map(texts.map((text, index) => [index, text])) }));
  assert.ok(line.length < 2 * LOG_LINE_CHARS_MAX, `${line.length} characters`);
  assert.equal((maskValue({ many: texts.map((_, index) => index) }) as { many: unknown[] }).many.length, LOG_ITEMS_MAX);
});
