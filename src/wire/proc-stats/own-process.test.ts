import assert from "node:assert/strict";
import { test } from "node:test";
import { ownProcessContract } from "../../../test/contract/own-process-contract.ts";
import { hostClock } from "../host/clock.ts";
import { createOwnProcess } from "./own-process.ts";

ownProcessContract("this process", () => ({ process: createOwnProcess(), nowWallMs: () => hostClock.wallMs() }));

void test("facts and start time are those of this process", async () => {
  const own = createOwnProcess();
  const [{ residentBytes, cpuSeconds }, { processWallMs }] = await Promise.all([own.facts(), own.begin()]);
  assert.ok(residentBytes > 20e6 && residentBytes < 2e9, String(residentBytes));
  const { user, system } = process.cpuUsage();
  assert.ok(Math.abs(cpuSeconds - (user + system) / 1e6) < 1, String(cpuSeconds));
  const ranMs = hostClock.wallMs() - processWallMs;
  assert.ok(ranMs > 0 && ranMs < 600_000, `it began ${ranMs} ms ago`);
});
