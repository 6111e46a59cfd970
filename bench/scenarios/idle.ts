/**
 * Nothing happens: measures the CPU that agents and runtimes use (B9) and the agents' memory afterwards (B10). Then the
 * same for as long again while collectors query all metrics of each agent. All agents run at the same time.
 */
import { pause } from "../../test/cluster/wait.ts";
import { askedWith, type Figure } from "../candidates.ts";
import { Collector } from "../collector.ts";
import type { Stage } from "../pod-driver.ts";
import type { Size } from "../sizes.ts";
import { processCpuMs, processMemory } from "../usage.ts";

export interface IdleStage extends Stage {
  /** How many pods run on the stage's node. */
  readonly pods: number;
}

/** What Prometheus, the metrics-server and clients of the summary API request. */
const COLLECTED = ["/metrics", "/metrics/cadvisor", "/metrics/resource", "/stats/summary"] as const;

/** Returns the figures of each stage, in the order of the stages. */
export async function idle(stages: readonly IdleStage[], size: Size): Promise<readonly (readonly Figure[])[]> {
  for (const stage of stages) await Promise.all(namesOf(stage).map((name) => stage.driver.up(name, "pause")));
  await pause(Math.max(size.idleSettleMs, size.idleMs - size.idleCountedMs));
  const unasked = await usedDuring(stages, () => pause(size.idleCountedMs));
  const asked = await usedDuring(stages, async () => {
    await Promise.all(stages.map((stage) => collect(stage, size)));
  });
  for (const stage of stages) await Promise.all(namesOf(stage).map((name) => stage.driver.down(name)));
  return stages.map(({ pods }, index) => [
    ...figuresOf(unasked[index], { cpu: `idle with ${pods} pods`, memory: `RSS with ${pods} pods` }),
    { benchmark: "B10", name: `PSS with ${pods} pods`, unit: "MB", value: unasked[index]?.pssMb ?? Number.NaN },
    ...figuresOf(asked[index], {
      cpu: askedWith(pods, size.scrapeEveryMs),
      memory: `RSS, ${askedWith(pods, size.scrapeEveryMs)}`,
    }),
  ]);
}

const namesOf = ({ label, pods }: IdleStage) => Array.from({ length: pods }, (_, index) => `${label}-${pods}-${index}`);

/** Requests all paths sequentially at a steady interval, for as long as CPU is counted. */
async function collect({ world }: IdleStage, { idleCountedMs, scrapeEveryMs }: Size): Promise<void> {
  using collector = await Collector.of(world);
  const startMs = performance.now();
  for (let atMs = 0; atMs < idleCountedMs; atMs += scrapeEveryMs) {
    await pause(Math.max(0, startMs + atMs - performance.now()));
    for (const path of COLLECTED) await collector.ask(path);
  }
  await pause(Math.max(0, startMs + idleCountedMs - performance.now()));
}

interface Reading {
  readonly atMs: number;
  readonly agentMs: number;
  readonly runtimeMs: number;
  readonly rssMb: number;
  readonly pssMb: number;
}

/** CPU per minute, and the memory at the end. */
type Used = Omit<Reading, "atMs">;

async function usedDuring(stages: readonly IdleStage[], wait: () => Promise<void>): Promise<readonly Used[]> {
  const before = await Promise.all(stages.map(reading));
  await wait();
  const after = await Promise.all(stages.map(reading));
  return after.map((now, index) => {
    const since = before[index] ?? now;
    const perMinute = (sinceMs: number, nowMs: number) => ((nowMs - sinceMs) * 60) / (now.atMs - since.atMs);
    return {
      ...now,
      agentMs: perMinute(since.agentMs, now.agentMs),
      runtimeMs: perMinute(since.runtimeMs, now.runtimeMs),
    };
  });
}

async function reading({ world, driver: { agent } }: IdleStage): Promise<Reading> {
  if (agent === undefined) throw new Error("a client without an agent is always idle");
  const [agentMs, runtimeMs] = [await processCpuMs(agent.pid), await world.runtimeCpuMs()];
  return { atMs: performance.now(), agentMs, runtimeMs, ...(await processMemory(agent.pid)) };
}

function figuresOf(
  used: Used | undefined,
  { cpu, memory }: { readonly cpu: string; readonly memory: string },
): readonly Figure[] {
  if (used === undefined) throw new Error(`nothing was measured: ${cpu}`);
  return [
    { benchmark: "B9", name: `agent, ${cpu}`, unit: "CPU-s/min", value: used.agentMs },
    { benchmark: "B9", name: `runtime, ${cpu}`, unit: "CPU-s/min", value: used.runtimeMs },
    { benchmark: "B10", name: memory, unit: "MB", value: used.rssMb },
  ];
}
