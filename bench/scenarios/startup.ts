/** Measures the installed program on a node without pods: its start time, its size on disk and its memory. B25. */
import { stat } from "node:fs/promises";
import { pause } from "../../test/cluster/wait.ts";
import { healthy } from "../healthz.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import type { Size } from "../sizes.ts";
import { median } from "../statistics.ts";
import { processCpuMs, processMemory } from "../usage.ts";

/** Time for the cleanup after the start. */
const SETTLE_MS = 5_000;

/** Stops the agent of the stage and leaves none running. */
export async function startup({ world, driver }: Stage, size: Size): Promise<Outcome> {
  const { agent } = driver;
  if (agent === undefined) throw new Error("only an agent can be started");
  await agent.stop();
  const samples: {
    readonly healthyMs: number;
    readonly cpuMs: number;
    readonly rssMb: number;
    readonly pssMb: number;
  }[] = [];
  let bytes = 0;
  for (let start = 0; start < size.starts; start += 1) {
    const launchedMs = performance.now();
    const [again, wellMs] = await Promise.all([world.startInstalled(agent.name), healthy(world.node.address)]);
    const cpuMs = await processCpuMs(again.pid);
    await pause(SETTLE_MS);
    samples.push({ healthyMs: wellMs - launchedMs, cpuMs, ...(await processMemory(again.pid)) });
    ({ size: bytes } = await stat(`/proc/${again.pid}/exe`));
    await again.stop();
  }
  const figure = (name: string, unit: "ms" | "CPU-ms" | "MB", values: readonly number[]) =>
    ({ benchmark: "B25", name, unit, value: median(values), samples: values }) as const;
  return {
    figures: [
      figure(
        "start to healthz p50",
        "ms",
        samples.map(({ healthyMs }) => healthyMs),
      ),
      figure(
        "agent, until it listens",
        "CPU-ms",
        samples.map(({ cpuMs }) => cpuMs),
      ),
      figure(
        "RSS after the start",
        "MB",
        samples.map(({ rssMb }) => rssMb),
      ),
      figure(
        "PSS after the start",
        "MB",
        samples.map(({ pssMb }) => pssMb),
      ),
      { benchmark: "B25", name: "program on disk", unit: "MB", value: bytes / 1e6 },
    ],
  };
}
