import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { ApiError, ApiUnreachableError, isExpired } from "../../ports/api-error.ts";
import { decodeBody, parseJson, parseRetryAfter, refusal } from "./answers.ts";
import { retryWaitMs, UnseenRequestError } from "./retry.ts";
import { parseEvent } from "./watch.ts";

const plain = { status: 200, retryAfter: undefined, encoding: undefined };
const status = (fields: object) => Buffer.from(JSON.stringify({ kind: "Status", ...fields }));

void test("a refusal carries the reason, the message and when to come back", () => {
  const head = { ...plain, status: 429, retryAfter: "3" };
  const error = refusal("GET pods", head, status({ reason: "TooManyRequests", message: "later", code: 429 }), 0);
  assert.deepEqual([error.status, error.reason, error.retryAfterMs], [429, "TooManyRequests", 3000]);
  assert.equal(error.message, "GET pods: later (429 TooManyRequests)");
});

void test("a refusal by something in between is shown as it is", () => {
  const error = refusal("GET pods", { ...plain, status: 502 }, Buffer.from("<html>bad gateway"), 0);
  assert.equal(error.message, 'GET pods: "<html>bad gateway" (502)');
});

void test("when to come back: seconds, a date, the Status' own word, or nothing", () => {
  const date = "Wed, 21 Oct 2026 07:28:00 GMT";
  assert.equal(parseRetryAfter("120", 0), 120_000);
  assert.equal(parseRetryAfter(date, Date.parse(date) - 5000), 5000);
  assert.equal(parseRetryAfter(date, Date.parse(date) + 5000), 0);
  assert.equal(parseRetryAfter("soon", 0), undefined);
  const error = refusal("GET", { ...plain, status: 500 }, status({ details: { retryAfterSeconds: 2 } }), 0);
  assert.equal(error.retryAfterMs, 2000);
});

void test("only what certainly had no effect is tried again", () => {
  const wait = (error: unknown) => retryWaitMs(error, 0.5);
  assert.equal(wait(new UnseenRequestError("GET", new Error("refused"))), 0);
  assert.equal(wait(new ApiError("GET", 429, "", "", 1000)), 1125);
  assert.equal(wait(new ApiError("GET", 503, "", "", 1000)), 1125);
  assert.equal(wait(new ApiError("GET", 429, "", "")), undefined);
  assert.equal(wait(new ApiError("GET", 500, "ServerTimeout", "", 1000)), undefined);
  assert.equal(wait(new ApiUnreachableError("GET", "refused", false)), undefined);
  assert.equal(wait(new ApiUnreachableError("GET", "reset", true)), undefined);
});

void test("what is not JSON, or not the gzip it claims to be, is an error", async () => {
  assert.throws(() => parseJson("GET pods", Buffer.from('{"a":')), { name: "ApiUnreachableError" });
  await assert.rejects(decodeBody("LIST", { ...plain, encoding: "gzip" }, Buffer.from("plain")), /not the gzip/);
  const truncated = gzipSync("x".repeat(1000)).subarray(0, 12);
  await assert.rejects(decodeBody("LIST", { ...plain, encoding: "gzip" }, truncated), /not the gzip/);
});

void test("a key __proto__ stays a key of its own", () => {
  const parsed = parseJson("GET", Buffer.from('{"data":{"__proto__":"x"}}')) as { readonly data: object };
  assert.deepEqual(Object.getOwnPropertyNames(parsed.data), ["__proto__"]);
});

for (const [name, line] of [
  ["text", "hello"],
  ["an empty line", ""],
  ["null", "null"],
  ["an unknown type", '{"type":"RENAMED","object":{}}'],
  ["no object", '{"type":"ADDED"}'],
  ["a bookmark without a version", '{"type":"BOOKMARK","object":{}}'],
] as const) {
  void test(`a watch line that is no event is an error: ${name}`, () => {
    assert.throws(() => parseEvent("WATCH pods", Buffer.from(line)), { name: "ApiUnreachableError" });
  });
}

void test("an ERROR event becomes the refusal it holds", () => {
  const line = JSON.stringify({
    type: "ERROR",
    object: { kind: "Status", code: 410, reason: "Expired", message: "old" },
  });
  assert.throws(() => parseEvent("WATCH pods", Buffer.from(line)), isExpired);
});
