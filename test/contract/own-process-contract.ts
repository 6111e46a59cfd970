/** Contract suite of the OwnProcess port: its values are plausible and consistent. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { OwnProcess } from "../../src/ports/own-process.ts";

export interface OwnProcessWorld {
  readonly process: OwnProcess;
  readonly nowWallMs: () => number;
}

/** Tolerance for the kernel's boot time. */
const SLACK_MS = 2_000;

export function ownProcessContract(name: string, begin: () => OwnProcessWorld): void {
  describe(`${name} keeps the contract of the OwnProcess port`, () => {
    test("boot time is before process start, and process start is before now", async () => {
      const { process, nowWallMs } = begin();
      const { processWallMs, bootWallMs } = await process.begin();
      assert.ok(bootWallMs > 0 || nowWallMs() < 1e9, String(bootWallMs));
      assert.ok(
        bootWallMs <= processWallMs && processWallMs <= nowWallMs() + SLACK_MS,
        `${bootWallMs} ${processWallMs}`,
      );
      const { startWallMs } = await process.facts();
      assert.ok(Math.abs(startWallMs - processWallMs) < SLACK_MS);
      assert.deepEqual(await process.begin(), { processWallMs, bootWallMs });
    });

    test("memory and open files are above zero and within their limits", async () => {
      const { process } = begin();
      const facts = await process.facts();
      assert.ok(facts.residentBytes > 0 && facts.residentBytes <= facts.virtualBytes);
      assert.ok(facts.virtualBytes <= facts.virtualBytesMax);
      assert.ok(facts.openFiles > 0 && facts.openFiles <= facts.openFilesMax);
      assert.ok(facts.heapUsedBytes > 0 && facts.heapUsedBytes <= facts.heapTotalBytes && facts.externalBytes >= 0);
    });

    test("CPU seconds and network bytes never decrease", async () => {
      const { process } = begin();
      const before = await process.facts();
      const after = await process.facts();
      for (const key of ["cpuSeconds", "receivedBytes", "transmittedBytes"] as const) {
        assert.ok(before[key] >= 0 && after[key] >= before[key], `${key}: ${before[key]}, then ${after[key]}`);
      }
    });

    test("event loop delays are finite, and their mean is at most their maximum", async () => {
      const { process } = begin();
      const { meanSeconds, p99Seconds, maxSeconds } = (await process.facts()).loopDelay;
      for (const seconds of [meanSeconds, p99Seconds, maxSeconds]) assert.ok(Number.isFinite(seconds) && seconds >= 0);
      assert.ok(meanSeconds <= maxSeconds || maxSeconds === 0);
    });
  });
}
