import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { growthPerMs, nextLook, partsToCompress, rotationPlan } from "./log-rotation.ts";

const NOW_MS = new Date("2026-01-02T03:04:05").getTime();
const part = (second: number, suffix = "") => `0.log.20260101-0000${String(second).padStart(2, "0")}${suffix}`;

test("[19.2] the oldest rotated files are removed to keep the limit with the new one; temporary files too", () => {
  const names = ["0.log", part(1, ".gz"), part(2, ".gz"), part(3, ".gz"), part(4), part(4, ".tmp"), "1.log"];
  const plan = (filesMax: number) => rotationPlan("0.log", names, { filesMax }, NOW_MS);
  assert.deepEqual(plan(5), { remove: [part(4, ".tmp"), part(1, ".gz")], renameTo: "0.log.20260102-030405" });
  assert.deepEqual(plan(6).remove, [part(4, ".tmp")]);
  assert.deepEqual(plan(2).remove, [part(4, ".tmp"), part(1, ".gz"), part(2, ".gz"), part(3, ".gz"), part(4)]);
  assert.deepEqual(rotationPlan("0.log", ["0.log"], { filesMax: 2 }, NOW_MS).remove, []);
});

test("[19.2] all rotated files but the newest are compressed, once", () => {
  assert.deepEqual(partsToCompress("0.log", ["0.log", part(1, ".gz"), part(2), part(3), part(4)]), [part(2), part(3)]);
  assert.deepEqual(partsToCompress("0.log", ["0.log", part(4)]), []);
  assert.deepEqual(
    partsToCompress("0.log", ["0.log", part(4, ".gz"), part(4), part(5)]),
    [],
    "it is compressed already",
  );
});

const MIB = 1024 * 1024;

test("an idle log is checked when it is written to, a growing one when it would reach its limit", () => {
  const policy = { bytesMax: 10 * MIB };
  assert.deepEqual(nextLook(0, 0, policy), { kind: "whenWritten", notBeforeMs: 1_000 });
  assert.deepEqual(nextLook(9 * MIB, 1, policy), { kind: "whenWritten", notBeforeMs: MIB / 10_000 });
  assert.deepEqual(nextLook(5 * MIB, 6_000, policy), { kind: "in", ms: (5.2 * MIB) / 6_000 });
  assert.deepEqual(nextLook(10 * MIB, 3_000, policy), { kind: "in", ms: (0.2 * MIB) / 3_000 });
  assert.deepEqual(nextLook(10 * MIB - 1, 1e9, policy), { kind: "in", ms: 50 });
});

test("growth is measured between two checks, and a log that shrank counts from its beginning", () => {
  assert.equal(growthPerMs(undefined, { bytes: 500, atMs: 10 }), 0);
  assert.equal(growthPerMs({ bytes: 100, atMs: 0 }, { bytes: 600, atMs: 100 }), 5);
  assert.equal(growthPerMs({ bytes: 600, atMs: 0 }, { bytes: 100, atMs: 100 }), 1);
  assert.equal(growthPerMs({ bytes: 100, atMs: 5 }, { bytes: 600, atMs: 5 }), 0);
});

test("a log written at up to 10 MB/s exceeds a limit of 10 MiB by at most a tenth", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), fc.nat(10 * MIB - 1), (rate, start) => {
      const bytesMax = 10 * MIB;
      // At the first check the log was idle; the second comes because the log is written to.
      const first = nextLook(start, 0, { bytesMax });
      assert.equal(first.kind, "whenWritten");
      let waitMs = first.kind === "whenWritten" ? first.notBeforeMs : 0;
      let bytes = start;
      for (let looks = 0; bytes < bytesMax; looks += 1) {
        bytes += rate * waitMs;
        const next = nextLook(bytes, rate, { bytesMax });
        waitMs = next.kind === "in" ? next.ms : next.notBeforeMs;
      }
      assert.ok(bytes <= bytesMax * 1.1, `${bytes} bytes at ${rate} a ms, from ${start}`);
    }),
  );
});
