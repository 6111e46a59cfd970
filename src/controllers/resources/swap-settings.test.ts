import assert from "node:assert/strict";
import { test } from "node:test";
import { swapSettings } from "./swap-settings.ts";

const cgroups = (counts: boolean) => ({ hasSwapAccounting: async () => counts });

test("pods get no swap if the kernel does not account for it, whatever is configured", async () => {
  for (const isLimited of [true, false])
    assert.deepEqual(await swapSettings(cgroups(false), 100n, isLimited), { kind: "uncounted" });
});

test("LimitedSwap shares out the machine's swap, NoSwap none of it", async () => {
  assert.deepEqual(await swapSettings(cgroups(true), 100n, true), { kind: "limited", capacityBytes: 100n });
  assert.deepEqual(await swapSettings(cgroups(true), 100n, false), { kind: "none" });
});
