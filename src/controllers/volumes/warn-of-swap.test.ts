import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeMachine } from "../../../sim/fake-machine.ts";
import { warnOfSwap } from "./warn-of-swap.ts";

async function reported(swapBytes: bigint, noSwap: boolean): Promise<readonly string[]> {
  const facts = { ...(await new FakeMachine("n1").facts()), swapBytes };
  const heard: string[] = [];
  await warnOfSwap("n1", {
    machine: { facts: async () => facts },
    mounts: { supportsNoswap: async () => noSwap },
    events: {
      emit: ({ kind, name }, type, reason, message) =>
        void heard.push(`${kind}/${name} ${type} ${reason} ${message.split(".")[0]}`),
    },
  });
  return heard;
}

test("[13.5] PossibleMemoryBackedVolumesOnDisk is emitted only with swap and without tmpfs noswap support", async () => {
  assert.deepEqual(await reported(1n << 30n, false), [
    "Node/n1 Warning PossibleMemoryBackedVolumesOnDisk The tmpfs noswap option is not supported",
  ]);
  assert.deepEqual(await reported(1n << 30n, true), []);
  assert.deepEqual(await reported(0n, false), []);
});
