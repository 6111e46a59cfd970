/** Starts pods with volumes sequentially: with a service account's token (B2, B7), and with all ordinary types (B3). */
import { pause } from "../../test/cluster/wait.ts";
import type { Outcome, PodKind, Stage } from "../pod-driver.ts";
import type { Size } from "../sizes.ts";
import { median, quantile } from "../statistics.ts";
import { createVolumeSources } from "../volume-fixtures.ts";
import { randomAge } from "./one-by-one.ts";

const REST_MS = 500;

export async function withVolumes(stage: Stage, size: Size): Promise<Outcome> {
  const { world } = stage;
  await createVolumeSources(world.api, world.namespace);
  const token = await lives(stage, "token", size.sequentialPods);
  const volumes = await lives(stage, "volumes", size.volumePods);
  return {
    figures: [
      { benchmark: "B2", name: "start with token p50", unit: "ms", value: median(token.starts), samples: token.starts },
      { benchmark: "B2", name: "start with token p99", unit: "ms", value: quantile(token.starts, 0.99) },
      {
        benchmark: "B3",
        name: "start with volumes p50",
        unit: "ms",
        value: median(volumes.starts),
        samples: volumes.starts,
      },
      {
        benchmark: "B7",
        name: "with token, delete to gone p50",
        unit: "ms",
        value: median(token.ends),
        samples: token.ends,
      },
    ],
  };
}

async function lives({ driver, label }: Stage, kind: PodKind, count: number) {
  const [starts, ends]: [number[], number[]] = [[], []];
  for (let index = 0; index < count; index += 1) {
    const name = `${label}-${kind}-${index}`;
    starts.push(await driver.up(name, kind));
    await randomAge();
    ends.push(await driver.down(name));
    await driver.tidy();
    await pause(REST_MS);
  }
  return { starts, ends };
}
