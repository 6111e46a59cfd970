/**
 * The kills of the survival suite at whole size: fifty kills of the agent, five of containerd, a minute without an API
 * server.
 */
import { after, before, describe } from "node:test";
import { containersOutliveKills } from "../integration/survival/kills.ts";
import { SurvivalWorld, variedPod } from "../support/survival-world.ts";

const PODS = 30;

describe("containers outlive kills", () => {
  let world: SurvivalWorld;

  before(async () => {
    world = await SurvivalWorld.start(variedPod);
    for (let i = 0; i < PODS; i += 1) await world.create();
    await world.settled();
  });

  after(() => world.down());

  containersOutliveKills(() => world, { agentKills: 50, runtimeKills: 5, awayMs: 60_000, stoppedMs: 30_000 });
});
