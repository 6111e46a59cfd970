/** Starts pods one after the other, waits a moment and deletes each: B1, B7 without a burst, and B11. */
import { pause } from "../../test/cluster/wait.ts";
import { type Request, requestsFor } from "../audit.ts";
import type { Figure } from "../candidates.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import { observe } from "../pod-observations.ts";
import type { Size } from "../sizes.ts";
import { median, quantile } from "../statistics.ts";
import { processCpuMs } from "../usage.ts";

/** With less, the signal comes before a program can handle it. Random, so as not to align with a poll every second. */
const AGE_MS_MIN = 1_000;
const AGE_MS_MAX = 2_000;
/** Without this pause, an agent that cleans up at once, not later, would pay for it in the start of the next pod. */
const REST_MS = 500;

export const randomAge = () => pause(AGE_MS_MIN + Math.random() * (AGE_MS_MAX - AGE_MS_MIN));

export async function oneByOne({ world, driver, label }: Stage, size: Size): Promise<Outcome> {
  const names = Array.from({ length: size.sequentialPods }, (_, index) => `${label}-single-${index}`);
  const [starts, ends]: [number[], number[]] = [[], []];
  const { agent } = driver;
  const agentBefore = agent === undefined ? 0 : await processCpuMs(agent.pid);
  const runtimeBefore = await world.runtimeCpuMs();
  for (const name of names) {
    starts.push(await driver.up(name, "pause"));
    await randomAge();
    ends.push(await driver.down(name));
    await driver.tidy();
    await pause(REST_MS);
  }
  const runtimeMs = ((await world.runtimeCpuMs()) - runtimeBefore) / names.length;
  const figures: Figure[] = [
    { benchmark: "B1", name: "start p50", unit: "ms", value: median(starts), samples: starts },
    { benchmark: "B1", name: "start p99", unit: "ms", value: quantile(starts, 0.99) },
    { benchmark: "B1", name: "runtime, one life", unit: "CPU-ms", value: runtimeMs },
    { benchmark: "B7", name: "delete to gone p50", unit: "ms", value: median(ends), samples: ends },
  ];
  if (agent === undefined) return { figures };
  const agentMs = ((await processCpuMs(agent.pid)) - agentBefore) / names.length;
  const requests = await requestsFor(world, names);
  const last = names.at(-1) ?? "";
  return {
    figures: [
      ...figures,
      { benchmark: "B1", name: "agent, one life", unit: "CPU-ms", value: agentMs },
      ...apiCost(requests, names.length),
    ],
    observations: observe(
      world.watcher.history(last),
      requests.filter(({ pod }) => pod === last),
    ),
  };
}

function apiCost(requests: readonly Request[], lives: number): readonly Figure[] {
  const kinds = new Map<string, number>();
  for (const { verb, what } of requests) kinds.set(`${verb} ${what}`, (kinds.get(`${verb} ${what}`) ?? 0) + 1);
  const bytes = requests.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0);
  return [
    { benchmark: "B11", name: "requests per life", unit: "requests", value: requests.length / lives },
    { benchmark: "B11", name: "bodies per life", unit: "bytes", value: bytes / lives },
    ...[...kinds]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([kind, count]) => ({ benchmark: "B11", name: kind, unit: "requests", value: count / lives }) as const),
  ];
}
