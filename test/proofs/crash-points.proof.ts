/** Every canonical scenario with the agent killed at every port call, before and after its effect. Small: at every 29th. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { canonical } from "../../sim/scenarios/canonical.ts";
import { describeFailure, enumerateCrashPoints } from "../../sim/scenarios/crash-points.ts";
import { withVolumes } from "../../sim/scenarios/with-volumes.ts";
import { figure } from "../figures.ts";
import { wholeSize } from "../size.ts";

for (const scenario of [...canonical, ...withVolumes]) {
  test(`${scenario.name}: killed at any call, no rule is broken and all comes right`, async () => {
    const { points, failures } = await enumerateCrashPoints(scenario, { stride: wholeSize() ? 1 : 29 });
    figure(`${scenario.name}: crash points`, points, "points");
    figure(`${scenario.name}: violations`, failures.length, "points");
    assert.ok(points > 0);
    assert.equal(failures.length, 0, failures.slice(0, 3).map(describeFailure).join("\n"));
  });
}
