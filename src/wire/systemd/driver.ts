/**
 * The systemd driver: groups are slices, transient units of systemd's.
 *
 * systemd is told first and the files are written after, with the same values, so that what systemd writes by itself later changes nothing. Where
 * the files say so already and this process has told systemd, nobody is asked.
 */
import { sliceOf } from "../../domain/resources/cgroup-name.ts";
import type { CgroupValues } from "../../domain/resources/cgroup-values.ts";
import { DEFAULT_PERIOD_US, sliceQuotaUs } from "../../domain/resources/cpu-units.ts";
import type { Log } from "../../ports/log.ts";
import type { GroupDriver } from "../cgroupfs/driver.ts";
import type { SystemdManager, UnitProperty } from "./manager.ts";
import { newSliceProperties, sliceProperties } from "./slice-properties.ts";

export function systemdDriver(
  manager: Pick<SystemdManager, "startTransient" | "setProperties" | "stop">,
  cgroupVersion: 1 | 2,
  log: Log,
): GroupDriver {
  /** By unit, what it was told last, of those that are there. */
  const told = new Map<string, string>();
  return {
    name: "systemd",
    settle,
    begin: (name) => manager.startTransient(sliceOf(name), newSliceProperties(name)),
    async hold(name, values, inPlace) {
      const properties = sliceProperties(values, cgroupVersion);
      const [unit, text] = [sliceOf(name), textOf(properties)];
      if (properties.length === 0 || (inPlace === "inPlace" && told.get(unit) === text)) return;
      await manager.setProperties(unit, properties);
      told.set(unit, text);
    },
    async end(name, signal) {
      const unit = sliceOf(name);
      told.delete(unit);
      try {
        await manager.stop(unit, signal);
      } catch (error) {
        signal.throwIfAborted();
        log.error("Failed to stop a unit of systemd, its cgroup is removed without it", error, { unit });
      }
    },
  };
}

function settle(values: CgroupValues): CgroupValues {
  const { cpuQuotaUs, cpuPeriodUs = DEFAULT_PERIOD_US } = values;
  if (cpuQuotaUs === undefined || cpuQuotaUs <= 0) return values;
  return { ...values, cpuQuotaUs: sliceQuotaUs(cpuQuotaUs, cpuPeriodUs) };
}

const textOf = (properties: readonly UnitProperty[]) =>
  JSON.stringify(properties, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
