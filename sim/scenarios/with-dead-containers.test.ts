import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keptKubelet } from "../kubelet.ts";
import { describeFailure, enumerateCrashPoints } from "./crash-points.ts";
import { play } from "./scenario.ts";
import { withDeadContainers } from "./with-dead-containers.ts";

describe("dead containers beyond the limits and under disk pressure", () => {
  let kubelet = keptKubelet();
  for (const { flags, ...scenario } of withDeadContainers(() => kubelet.newest())) {
    test(`[19.10] [7.24] ${scenario.name}: breaks no invariant and ends as expected`, async () => {
      kubelet = keptKubelet(...flags);
      const { violations, wrong, lastLines } = await play(scenario, { agent: kubelet.agent });
      assert.deepEqual([violations, wrong], [[], []], lastLines.slice(-30).join("\n"));
    });

    test(`[19.10] [7.2] ${scenario.name}: same result with the agent killed at sampled calls`, async () => {
      kubelet = keptKubelet(...flags);
      const { failures } = await enumerateCrashPoints(scenario, { stride: 151, agent: kubelet.agent });
      assert.deepEqual(failures.map(describeFailure), []);
    });
  }
});
