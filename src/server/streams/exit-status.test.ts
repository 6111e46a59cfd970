import assert from "node:assert/strict";
import { test } from "node:test";
import { readEnd, statusText } from "./exit-status.ts";

const translated = (status: unknown) =>
  JSON.parse(statusText(readEnd(Buffer.from(JSON.stringify(status))))) as Readonly<Record<string, unknown>>;
const nonZero = (causes: unknown) => ({
  status: "Failure",
  reason: "NonZeroExitCode",
  message: "command terminated with non-zero exit code: error executing command [false], exit code 3",
  details: { causes },
});

void test("[20.9] an exit code of v4 becomes a v5 status with the Go kubelet's message", () => {
  assert.deepEqual(translated(nonZero([{ reason: "ExitCode", message: "3" }])), {
    metadata: {},
    status: "Failure",
    message: "command terminated with non-zero exit code: command terminated with exit code 3",
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: "3" }] },
  });
  assert.deepEqual(translated({ metadata: {}, status: "Success" }), { metadata: {}, status: "Success" });
});

void test("any other failure is an internal error with the runtime's message", () => {
  assert.deepEqual(translated({ status: "Failure", message: "no such file" }), {
    metadata: {},
    status: "Failure",
    message: "Internal error occurred: no such file",
    reason: "InternalError",
    details: { causes: [{ message: "no such file" }] },
    code: 500,
  });
});

void test("an empty error stream is a failure, other than in the Go kubelet", () => {
  assert.equal(readEnd(Buffer.alloc(0)).kind, "failed");
});

void test("an invalid status is a failure with its reason", () => {
  const word = (status: unknown) => {
    const end = readEnd(Buffer.from(typeof status === "string" ? status : JSON.stringify(status)));
    return end.kind === "failed" ? end.message.replace(/ [^ ]* in .*/, "") : end.kind;
  };
  assert.match(word("{not json"), /^error stream protocol error: /);
  assert.equal(word({ status: "Maybe" }), "error stream protocol error: unknown error");
  assert.equal(
    word({ status: "Failure", reason: "NonZeroExitCode" }),
    "error stream protocol error: details must be set",
  );
  assert.equal(word(nonZero([])), "error stream protocol error: no ExitCode cause given");
  for (const message of ["256", "-1", "1e2", "", 3]) {
    const end = readEnd(Buffer.from(JSON.stringify(nonZero([{ reason: "ExitCode", message }]))));
    assert.equal(end.kind, "failed", String(message));
  }
});
