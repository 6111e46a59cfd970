/**
 * Pulls small images during the pull of a big one (B21): with each agent's default settings, Deckhand in enhanced mode,
 * and with serialized pulls.
 */
import type { PodSpec } from "../../src/api/gen/core-v1.ts";
import { pods } from "../../src/api/resources.ts";
import { pause } from "../../test/cluster/wait.ts";
import type { Figure } from "../candidates.ts";
import { kubeletDriver, podBy } from "../kubelet-driver.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import { isReady } from "../pod-watcher.ts";
import type { Size } from "../sizes.ts";
import { SlowRegistry } from "../slow-registry.ts";
import { median } from "../statistics.ts";
import { forever, type World } from "../world.ts";

const BIG = "deckhand/served-1";
const SMALL = Array.from({ length: 10 }, (_, index) => `deckhand/served-${index + 2}`);

const SETTINGS = [
  { title: "behind a big pull", configuration: {} },
  { title: "behind a big pull, one at a time", configuration: { serializeImagePulls: true } },
] as const;

/** Stops the agent of the stage, starts one for each setting, and leaves none running. */
export async function pulls({ world, driver: before, label }: Stage, size: Size): Promise<Outcome> {
  const { agent } = before;
  if (agent === undefined) throw new Error("only an agent has a setting for pulls");
  await agent.stop();
  const figures: Figure[] = [];
  for (const [index, { title, configuration }] of SETTINGS.entries()) {
    // An earlier build needs no flag to pull in parallel.
    const flags = agent.name === "deckhand" ? ["--deckhand-compatibility=enhanced"] : [];
    const driver = kubeletDriver(world, await world.startAgent(agent.name, configuration, flags));
    await pause(size.settleMs);
    figures.push(...(await pulledBehind({ world, driver, label: `${label}-pull-${index}` }, size, title)));
    await driver.end();
  }
  return { figures };
}

async function pulledBehind(stage: Stage, size: Size, title: string): Promise<readonly Figure[]> {
  const { world, driver, label } = stage;
  const registry = await SlowRegistry.open(world, { repository: BIG, blobMs: size.bigPullMs });
  const [bigImage, images] = [registry.image(BIG), SMALL.map((repository) => registry.image(repository))];
  try {
    const big = start(world, `${label}-big`, bigImage);
    await Promise.race([registry.began, big]);
    const starts = await Promise.all(images.map((image, index) => start(world, `${label}-small-${index}`, image)));
    const bigMs = await big;
    const names = [`${label}-big`, ...images.map((_, index) => `${label}-small-${index}`)];
    await Promise.all(names.map((name) => driver.down(name)));
    return [
      { benchmark: "B21", name: `${title}, p50 Ready`, unit: "ms", value: median(starts), samples: starts },
      { benchmark: "B21", name: `${title}, last Ready`, unit: "ms", value: Math.max(...starts) },
      { benchmark: "B21", name: `${title}, the big one Ready`, unit: "ms", value: bigMs },
    ];
  } finally {
    for (const image of [bigImage, ...images]) await world.cri.images.removeImage({ image }, forever);
    await registry.close();
  }
}

const LIMIT_MS = 300_000;

async function start(world: World, name: string, image: string): Promise<number> {
  const spec: Partial<PodSpec> = {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "app", image, command: ["sleep", "1000000"] }],
  };
  const sinceMs = performance.now();
  const ready = world.watcher.when(name, "ready", isReady, LIMIT_MS);
  await Promise.all([world.api.create(pods, podBy(world, name, spec), forever), ready]);
  return (await ready).atMs - sinceMs;
}
