/** Starts many pods at once and deletes them at once: B4 and the burst of B7. */
import { pause } from "../../test/cluster/wait.ts";
import type { Figure } from "../candidates.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import type { Size } from "../sizes.ts";
import { median } from "../statistics.ts";
import { processCpuMs } from "../usage.ts";

const AGE_MS = 1_500;

export async function bursts(stage: Stage, size: Size): Promise<Outcome> {
  const figures: Figure[] = [];
  for (const [index, count] of size.bursts.entries()) {
    const title = index === 0 ? "burst" : `burst of ${count}`;
    figures.push(...(await burst(stage, count, title)));
  }
  return { figures };
}

async function burst({ world, driver, label }: Stage, count: number, title: string): Promise<readonly Figure[]> {
  const names = Array.from({ length: count }, (_, index) => `${label}-burst-${count}-${index}`);
  const { agent } = driver;
  const agentBefore = agent === undefined ? 0 : await processCpuMs(agent.pid);
  const runtimeBefore = await world.runtimeCpuMs();
  const starts = await Promise.all(names.map((name) => driver.up(name, "pause")));
  const runtimeMs = ((await world.runtimeCpuMs()) - runtimeBefore) / count;
  const agentMs = agent === undefined ? undefined : ((await processCpuMs(agent.pid)) - agentBefore) / count;
  await pause(AGE_MS);
  const ends = await Promise.all(names.map((name) => driver.down(name)));
  await driver.tidy();
  return [
    { benchmark: "B4", name: `${title}, last Ready`, unit: "ms", value: Math.max(...starts), samples: starts },
    { benchmark: "B4", name: `${title}, p50 Ready`, unit: "ms", value: median(starts) },
    { benchmark: "B4", name: `${title}, runtime per start`, unit: "CPU-ms", value: runtimeMs },
    ...(agentMs === undefined
      ? []
      : [{ benchmark: "B4", name: `${title}, agent per start`, unit: "CPU-ms", value: agentMs } as const]),
    { benchmark: "B7", name: `${title}, last gone`, unit: "ms", value: Math.max(...ends), samples: ends },
  ];
}
