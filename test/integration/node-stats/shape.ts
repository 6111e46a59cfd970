/** Which series a node reports, with the values that are the same on every machine at all times. */
import { readFile } from "node:fs/promises";
import { release } from "node:os";
import type { Rules } from "./compare.ts";
import type { Series } from "./series.ts";

/** Constant on one machine; each of these is compared with the kernel's value instead. */
const OF_THE_MACHINE: readonly RegExp[] = [
  /\.(?:capacityBytes|inodes)$/,
  /^\.node\.(?:swap\.swapAvailableBytes|rlimit\.maxpid)$/,
  /^machine_(?:cpu_cores|cpu_physical_cores|cpu_sockets|memory_bytes|swap_bytes)\{/,
  /^container_spec_(?:cpu_shares|memory_limit_bytes|memory_swap_limit_bytes)\{.*id=\/(?:kubepods)?,/,
  /^container_threads_max\{/,
  /^container_ulimits_soft\{/,
];

/** Replaces names that depend on the machine in the keys of its series. */
export type Neutral = (key: string) => string;

export async function neutralKeys(kubeletGroup: string): Promise<Neutral> {
  const optional = async (file: string) => (await readFile(file, "utf8").catch(() => "")).trim();
  const machineId = await optional("/etc/machine-id");
  const uuid = (await optional("/sys/class/dmi/id/product_uuid")) || machineId;
  const os = /^PRETTY_NAME="?(.*?)"?$/m.exec(await optional("/etc/os-release"))?.[1] ?? "Linux";
  const names = [
    [`boot_id=${await optional("/proc/sys/kernel/random/boot_id")}`, "boot_id=<boot id>"],
    [`machine_id=${machineId}`, "machine_id=<machine id>"],
    [`system_uuid=${uuid}`, "system_uuid=<system UUID>"],
    [`kernelVersion=${release()}`, "kernelVersion=<kernel>"],
    [`osVersion=${os}`, "osVersion=<operating system>"],
    [`id=${kubeletGroup},`, "id=/<agents>,"],
  ] as const;
  return (key) => {
    let neutral: string = key;
    for (const [name, marker] of names) neutral = neutral.replaceAll(name, marker);
    if (neutral.includes("id=/,")) {
      neutral = neutral.replace(/\binterface=[^,}]+/, "interface=<each>").replace(/\bdevice=[^,}]+/, "device=<each>");
    }
    return neutral.replace(/^(\.node\.network\.interfaces)\[[^\]]+\]/, "$1[<each>]");
  };
}

export function shapeOf(series: Series, rules: Rules, neutral: Neutral): ReadonlyMap<string, unknown> {
  const isConstant = (key: string) =>
    (rules.find(([pattern]) => pattern.test(key))?.[1].kind ?? "same") === "same" &&
    !OF_THE_MACHINE.some((pattern) => pattern.test(key));
  return new Map(
    [...series].map(([key, { value }]) => {
      const constant = typeof value === "string" && key.startsWith("#") ? value : isConstant(key) ? value : undefined;
      return [neutral(key), constant ?? `<${typeof value}>`];
    }),
  );
}
