import assert from "node:assert/strict";
import { test } from "node:test";
import { fallsBackToLog, messageFromLog } from "./termination-message.ts";

const STAMP = "2026-01-01T00:00:00.000000000Z";
const line = (text: string, tag = "F") => `${STAMP} stdout ${tag} ${text}\n`;

test("[7.17] the message from a log is its last 80 lines, without timestamps", () => {
  const log = Array.from({ length: 100 }, (_, index) => line(String(index))).join("");
  const wanted = Array.from({ length: 80 }, (_, index) => `${index + 20}\n`).join("");
  assert.equal(messageFromLog(log, true), wanted);
});

test("[7.17] the message from a log is at most its last 2048 bytes", () => {
  const log = Array.from({ length: 30 }, (_, index) => line(`${index}`.padEnd(99, "x"))).join("");
  const message = messageFromLog(log, true);
  assert.equal(message.length, 2048);
  assert.ok(message.endsWith(`${"29".padEnd(99, "x")}\n`));
});

test("[7.17] parts of a long line are joined, and a partial first line is dropped", () => {
  assert.equal(messageFromLog(line("one ", "P") + line("line"), true), "one line\n");
  assert.equal(messageFromLog(`half a line\n${line("whole")}`, false), "whole\n");
});

test("[7.17] the log is used only for an empty file of a failed container with FallbackToLogsOnError", () => {
  const policy = "FallbackToLogsOnError";
  assert.equal(fallsBackToLog(policy, 1, ""), true);
  assert.equal(fallsBackToLog(policy, 0, ""), false);
  assert.equal(fallsBackToLog(policy, 1, "said"), false);
  assert.equal(fallsBackToLog("File", 1, ""), false);
});
