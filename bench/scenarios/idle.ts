/** Nothing happens: what the agent and the runtime use meanwhile (B9), and how large the agent is after it (B10). */
import { pause } from "../../test/cluster/wait.ts";
import type { Outcome, Stage } from "../hand.ts";
import type { Size } from "../sizes.ts";
import type { Figure } from "../subjects.ts";
import { processCpuMs, processMemory } from "../usage.ts";

export async function idle({ world, hand, label }: Stage, size: Size): Promise<Outcome> {
  const { agent } = hand;
  if (agent === undefined) throw new Error("a client without an agent is always idle");
  const figures: Figure[] = [];
  let running = 0;
  for (const count of size.idlePods) {
    const more = Array.from({ length: count - running }, (_, index) => `${label}-idle-${running + index}`);
    await Promise.all(more.map((name) => hand.up(name, "pause")));
    running = count;
    await pause(Math.max(size.idleSettleMs, size.idleMs - size.idleCountedMs));
    const [agentBefore, runtimeBefore, sinceMs] = [
      await processCpuMs(agent.pid),
      await world.runtimeCpuMs(),
      performance.now(),
    ];
    await pause(size.idleCountedMs);
    const minutes = (performance.now() - sinceMs) / 60_000;
    const agentS = ((await processCpuMs(agent.pid)) - agentBefore) / 1000 / minutes;
    const runtimeS = ((await world.runtimeCpuMs()) - runtimeBefore) / 1000 / minutes;
    const { rssMb, pssMb } = await processMemory(agent.pid);
    figures.push(
      { benchmark: "B9", name: `agent, idle with ${count} pods`, unit: "CPU-s/min", value: agentS },
      { benchmark: "B9", name: `runtime, idle with ${count} pods`, unit: "CPU-s/min", value: runtimeS },
      { benchmark: "B10", name: `RSS with ${count} pods`, unit: "MB", value: rssMb },
      { benchmark: "B10", name: `PSS with ${count} pods`, unit: "MB", value: pssMb },
    );
  }
  await Promise.all(Array.from({ length: running }, (_, index) => hand.down(`${label}-idle-${index}`)));
  return { figures };
}
