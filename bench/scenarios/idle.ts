/** Nothing happens: what agents and runtimes use meanwhile (B9), and how large the agents are after it (B10). All of them at once. */
import { pause } from "../../test/cluster/wait.ts";
import type { Stage } from "../hand.ts";
import type { Size } from "../sizes.ts";
import type { Figure } from "../subjects.ts";
import { processCpuMs, processMemory } from "../usage.ts";

export interface IdleStage extends Stage {
  /** How many pods it holds meanwhile. */
  readonly pods: number;
}

/** The figures of each stage, in their order. */
export async function idle(stages: readonly IdleStage[], size: Size): Promise<readonly (readonly Figure[])[]> {
  for (const stage of stages) await Promise.all(namesOf(stage).map((name) => stage.hand.up(name, "pause")));
  await pause(Math.max(size.idleSettleMs, size.idleMs - size.idleCountedMs));
  const since = await Promise.all(stages.map(async (stage) => ({ stage, before: await reading(stage) })));
  await pause(size.idleCountedMs);
  const figures = await Promise.all(
    since.map(async ({ stage, before }) => figuresOf(stage.pods, before, await reading(stage))),
  );
  for (const stage of stages) await Promise.all(namesOf(stage).map((name) => stage.hand.down(name)));
  return figures;
}

const namesOf = ({ label, pods }: IdleStage) => Array.from({ length: pods }, (_, index) => `${label}-${pods}-${index}`);

interface Reading {
  readonly atMs: number;
  readonly agentMs: number;
  readonly runtimeMs: number;
  readonly rssMb: number;
  readonly pssMb: number;
}

async function reading({ world, hand: { agent } }: IdleStage): Promise<Reading> {
  if (agent === undefined) throw new Error("a client without an agent is always idle");
  const [agentMs, runtimeMs] = [await processCpuMs(agent.pid), await world.runtimeCpuMs()];
  return { atMs: performance.now(), agentMs, runtimeMs, ...(await processMemory(agent.pid)) };
}

function figuresOf(pods: number, since: Reading, now: Reading): readonly Figure[] {
  const perMinute = (beforeMs: number, afterMs: number) => ((afterMs - beforeMs) * 60) / (now.atMs - since.atMs);
  return [
    {
      benchmark: "B9",
      name: `agent, idle with ${pods} pods`,
      unit: "CPU-s/min",
      value: perMinute(since.agentMs, now.agentMs),
    },
    {
      benchmark: "B9",
      name: `runtime, idle with ${pods} pods`,
      unit: "CPU-s/min",
      value: perMinute(since.runtimeMs, now.runtimeMs),
    },
    { benchmark: "B10", name: `RSS with ${pods} pods`, unit: "MB", value: now.rssMb },
    { benchmark: "B10", name: `PSS with ${pods} pods`, unit: "MB", value: now.pssMb },
  ];
}
