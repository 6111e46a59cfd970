/** Reads the limits of a cgroup v2 cgroup from its files, in the form that the contract expects. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CgroupValues } from "../../src/domain/resources/cgroup-values.ts";

const SHARES: ReadonlyMap<string, number> = new Map([
  ["1", 2],
  ["10000", 262_144],
]);

export async function readV2Values(directory: string): Promise<CgroupValues> {
  const text = async (file: string) => (await readFile(join(directory, file), "utf8")).trim();
  const number = (shown: string) => (shown === "max" ? "-1" : shown);
  const [quota = "", period] = (await text("cpu.max")).split(" ");
  return {
    cpuShares: SHARES.get(await text("cpu.weight")) ?? -1,
    cpuQuotaUs: Number(number(quota)),
    cpuPeriodUs: Number(period),
    memoryLimitBytes: BigInt(number(await text("memory.max"))),
    pidsMax: BigInt(number(await text("pids.max"))),
  };
}
