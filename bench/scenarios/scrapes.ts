/** Measures what queries of the statistics of a node with many pods cost, and the agent's memory afterwards (B26). */
import type { Summary } from "../../src/domain/stats/summary-shape.ts";
import { pause, waitUntil } from "../../test/cluster/wait.ts";
import type { Figure } from "../candidates.ts";
import { Collector } from "../collector.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import type { Size } from "../sizes.ts";
import { median } from "../statistics.ts";
import { processCpuMs, processMemory } from "../usage.ts";

/** Longer than any agent caches its statistics. */
const BETWEEN_MS = 2_000;
const ENDPOINTS = ["/stats/summary", "/metrics/cadvisor", "/metrics/resource"] as const;

export async function scrapes({ world, driver, label }: Stage, size: Size): Promise<Outcome> {
  const { agent } = driver;
  if (agent === undefined) throw new Error("only an agent serves metrics");
  const names = Array.from({ length: size.scrapedPods }, (_, index) => `${label}-scraped-${index}`);
  for (let begin = 0; begin < names.length; begin += 20) {
    await Promise.all(names.slice(begin, begin + 20).map((name) => driver.up(name, "pause")));
  }
  using collector = await Collector.of(world);
  await waitUntil("all pods to be in the stats summary", 120_000, async () => {
    const { body } = await collector.ask("/stats/summary");
    const { pods } = JSON.parse(body.toString()) as Pick<Summary, "pods">;
    const isWhole = ({ containers }: Summary["pods"][number]) =>
      containers.every(({ cpu, rootfs }) => cpu?.usageNanoCores !== undefined && (rootfs?.inodesUsed ?? 0) > 0);
    return names.every((name) => pods.some((pod) => pod.podRef.name === name && isWhole(pod)));
  });
  await pause(size.settleMs);
  const [cpuBeforeMs, samples] = [await processCpuMs(agent.pid), new Map<string, number[]>()];
  const bytes = new Map<string, number>();
  for (let turn = 0; turn < size.scrapes; turn += 1) {
    for (const path of ENDPOINTS) {
      const { tookMs, body } = await collector.ask(path);
      samples.set(path, [...(samples.get(path) ?? []), tookMs]);
      bytes.set(path, body.length);
      await pause(BETWEEN_MS);
    }
  }
  const cpuMs = (await processCpuMs(agent.pid)) - cpuBeforeMs;
  const { rssMb } = await processMemory(agent.pid);
  for (let begin = 0; begin < names.length; begin += 20) {
    await Promise.all(names.slice(begin, begin + 20).map((name) => driver.down(name)));
  }
  const times = [...samples].map(
    ([path, all]): Figure => ({
      benchmark: "B26",
      name: `${path} with ${size.scrapedPods} pods p50`,
      unit: "ms",
      value: median(all),
      samples: all,
    }),
  );
  return {
    figures: [
      ...times,
      { benchmark: "B26", name: "/metrics/cadvisor", unit: "bytes", value: bytes.get("/metrics/cadvisor") ?? 0 },
      { benchmark: "B26", name: "agent, for each round of the three", unit: "CPU-ms", value: cpuMs / size.scrapes },
      { benchmark: "B26", name: "RSS while asked", unit: "MB", value: rssMb },
    ],
  };
}
