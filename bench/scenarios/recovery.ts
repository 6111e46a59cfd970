/** Restarts an agent while pods run; one pod is created while no agent runs: B18. */
import { pods } from "../../src/api/resources.ts";
import { pause } from "../../test/cluster/wait.ts";
import { healthy } from "../healthz.ts";
import { kubeletDriver, podOf } from "../kubelet-driver.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import { isReady } from "../pod-watcher.ts";
import type { Size } from "../sizes.ts";
import { processCpuMs } from "../usage.ts";
import { forever, type World } from "../world.ts";

const AWAY_MS = 3_000;
/** The agent's CPU is counted from its start for this long. */
const COUNTED_MS = 9_000;

/** Stops the agent of the stage and leaves none running. */
export async function recovery({ world, driver: before, label }: Stage, size: Size): Promise<Outcome> {
  const { agent } = before;
  if (agent === undefined) throw new Error("only an agent can come back");
  const names = Array.from({ length: size.recoveryPods }, (_, index) => `${label}-staying-${index}`);
  const newcomer = `${label}-newcomer`;
  await Promise.all(names.map((name) => before.up(name, "pause")));
  await pause(size.settleMs);
  const containers = names.map((name) => containersOf(world, name));
  await agent.stop();
  await world.api.create(pods, podOf(world, newcomer, "pause"), forever);
  await pause(AWAY_MS);
  const seenBefore = names.map((name) => world.watcher.history(name).length);
  const ready = world.watcher.when(newcomer, "ready", isReady);
  const launchedMs = performance.now();
  const [again, healthyMs] = await Promise.all([world.startAgent(agent.name), healthy(world.node.address)]);
  const readyMs = (await ready).atMs - launchedMs;
  await pause(Math.max(0, launchedMs + COUNTED_MS - performance.now()));
  const cpuS = (await processCpuMs(again.pid)) / 1000;
  for (const [index, name] of names.entries()) {
    const since = world.watcher.history(name).slice(seenBefore[index]);
    if (since.some((seen) => !isReady(seen))) throw new Error(`${name} was not ready for a while after the restart`);
    if (containersOf(world, name) !== containers[index]) throw new Error(`${name} was restarted with its agent`);
  }
  const driver = kubeletDriver(world, again);
  await Promise.all([...names, newcomer].map((name) => driver.down(name)));
  await driver.end();
  return {
    figures: [
      { benchmark: "B18", name: "restart to healthz", unit: "ms", value: healthyMs - launchedMs },
      { benchmark: "B18", name: "restart to new pod Ready", unit: "ms", value: readyMs },
      { benchmark: "B18", name: "agent, first 9 s", unit: "CPU-s", value: cpuS },
    ],
  };
}

const containersOf = ({ watcher }: World, name: string): string =>
  JSON.stringify(
    watcher
      .history(name)
      .at(-1)
      ?.pod.status?.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]),
  );
