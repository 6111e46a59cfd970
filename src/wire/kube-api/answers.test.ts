import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { ApiError, ApiUnreachableError, isExpired } from "../../ports/api-error.ts";
import { decodeBody, parseJson, parseRetryAfter, refusal } from "./answers.ts";
import { retryWaitMs, UnseenRequestError } from "./retry.ts";
import { parseEvent } from "./watch.ts";

const plain = { status: 200, retryAfter: undefined, encoding: undefined };
const status = (fields: object) => Buffer.from(JSON.stringify({ kind: "Status", ...fields }));

void test("an error response carries the status, reason, message and Retry-After", () => {
  const head = { ...plain, status: 429, retryAfter: "3" };
  const error = refusal("GET pods", head, status({ reason: "TooManyRequests", message: "later", code: 429 }), 0);
  assert.deepEqual([error.status, error.reason, error.retryAfterMs], [429, "TooManyRequests", 3000]);
  assert.equal(error.message, "GET pods: later (429 TooManyRequests)");
});

void test("an error response that is not a Status is shown verbatim", () => {
  const error = refusal("GET pods", { ...plain, status: 502 }, Buffer.from("<html>bad gateway"), 0);
  assert.equal(error.message, 'GET pods: "<html>bad gateway" (502)');
});

void test("Retry-After is read from seconds, a date or the Status' retryAfterSeconds", () => {
  const date = "Wed, 21 Oct 2026 07:28:00 GMT";
  assert.equal(parseRetryAfter("120", 0), 120_000);
  assert.equal(parseRetryAfter(date, Date.parse(date) - 5000), 5000);
  assert.equal(parseRetryAfter(date, Date.parse(date) + 5000), 0);
  assert.equal(parseRetryAfter("soon", 0), undefined);
  const error = refusal("GET", { ...plain, status: 500 }, status({ details: { retryAfterSeconds: 2 } }), 0);
  assert.equal(error.retryAfterMs, 2000);
});

void test("only requests that certainly had no effect are retried", () => {
  const wait = (error: unknown) => retryWaitMs(error, 0.5);
  assert.equal(wait(new UnseenRequestError("GET", new Error("refused"))), 0);
  assert.equal(wait(new ApiError("GET", 429, "", "", 1000)), 1125);
  assert.equal(wait(new ApiError("GET", 503, "", "", 1000)), 1125);
  assert.equal(wait(new ApiError("GET", 429, "", "")), undefined);
  assert.equal(wait(new ApiError("GET", 500, "ServerTimeout", "", 1000)), undefined);
  assert.equal(wait(new ApiUnreachableError("GET", "refused", false)), undefined);
  assert.equal(wait(new ApiUnreachableError("GET", "reset", true)), undefined);
});

void test("invalid JSON and invalid gzip are errors", async () => {
  assert.throws(() => parseJson("GET pods", Buffer.from('{"a":')), { name: "ApiUnreachableError" });
  await assert.rejects(decodeBody("LIST", { ...plain, encoding: "gzip" }, Buffer.from("plain")), /not the gzip/);
  const truncated = gzipSync("x".repeat(1000)).subarray(0, 12);
  await assert.rejects(decodeBody("LIST", { ...plain, encoding: "gzip" }, truncated), /not the gzip/);
});

void test("parseJson keeps __proto__ as a plain key", () => {
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
  void test(`parseEvent rejects ${name}`, () => {
    assert.throws(() => parseEvent("WATCH pods", Buffer.from(line)), { name: "ApiUnreachableError" });
  });
}

void test("an ERROR event throws the API error it contains", () => {
  const line = JSON.stringify({
    type: "ERROR",
    object: { kind: "Status", code: 410, reason: "Expired", message: "old" },
  });
  assert.throws(() => parseEvent("WATCH pods", Buffer.from(line)), isExpired);
});
