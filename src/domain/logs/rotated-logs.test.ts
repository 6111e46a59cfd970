import assert from "node:assert/strict";
import { test } from "node:test";
import { nextPart, rotatedLogs } from "./rotated-logs.ts";

test("[19.2] parts are known by their names, oldest first; what a cut-short rotation left is told apart", () => {
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

test("[19.2] a part is named by the node's time, to the second", () => {
  assert.equal(nextPart("0.log", [], at("2026-01-02T03:04:05.999")), "0.log.20260102-030405");
  assert.equal(
    nextPart("0.log", parts("0.log.20260102-030404.gz"), at("2026-01-02T03:04:05")),
    "0.log.20260102-030405",
  );
});

test("a name is never given twice, nor one that comes before another: not within a second, not after the clock was set back", () => {
  const now = at("2026-01-02T23:59:59");
  assert.equal(nextPart("0.log", parts("0.log.20260102-235959"), now), "0.log.20260103-000000");
  assert.equal(nextPart("0.log", parts("0.log.20260102-235959.gz"), now), "0.log.20260103-000000");
  assert.equal(nextPart("0.log", parts("0.log.20270101-000000"), now), "0.log.20270101-000001");
  assert.equal(nextPart("0.log", parts("0.log.20260102-235958", "0.log.by-hand"), now), "0.log.20260102-235959");
});
