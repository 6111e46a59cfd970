import assert from "node:assert/strict";
import { test } from "node:test";
import { nextPart, rotatedLogs } from "./rotated-logs.ts";

test("[19.2] rotated files are recognized by name, oldest first, apart from those of an interrupted rotation", () => {
  const names = [
    "0.log",
    "0.log.20260102-000003",
    "0.log.20260102-000001.gz",
    "0.log.20260102-000002.gz",
    "0.log.20260102-000002",
    "0.log.20260102-000003.tmp",
    "1.log",
    "1.log.20260102-000009",
    "0.logs",
  ];
  const { inUse, unused } = rotatedLogs("0.log", names);
  assert.deepEqual(inUse, [
    { name: "0.log.20260102-000001.gz", part: "0.log.20260102-000001", isCompressed: true },
    { name: "0.log.20260102-000002.gz", part: "0.log.20260102-000002", isCompressed: true },
    { name: "0.log.20260102-000003", part: "0.log.20260102-000003", isCompressed: false },
  ]);
  assert.deepEqual(unused, ["0.log.20260102-000002", "0.log.20260102-000003.tmp"]);
});

const at = (text: string) => new Date(text).getTime();
const parts = (...names: readonly string[]) => rotatedLogs("0.log", names).inUse;

test("[19.2] a rotated file is named after the node's time in seconds", () => {
  assert.equal(nextPart("0.log", [], at("2026-01-02T03:04:05.999")), "0.log.20260102-030405");
  assert.equal(
    nextPart("0.log", parts("0.log.20260102-030404.gz"), at("2026-01-02T03:04:05")),
    "0.log.20260102-030405",
  );
});

test("a new rotated file's name sorts last, also within one second and after the clock was set back", () => {
  const now = at("2026-01-02T23:59:59");
  assert.equal(nextPart("0.log", parts("0.log.20260102-235959"), now), "0.log.20260103-000000");
  assert.equal(nextPart("0.log", parts("0.log.20260102-235959.gz"), now), "0.log.20260103-000000");
  assert.equal(nextPart("0.log", parts("0.log.20270101-000000"), now), "0.log.20270101-000001");
  assert.equal(nextPart("0.log", parts("0.log.20260102-235958", "0.log.by-hand"), now), "0.log.20260102-235959");
});
