/**
 * The systemd driver: cgroups are slices, transient units of systemd.
 *
 * systemd is called first and the files are written afterwards, with the same values, so that a later write by systemd
 * changes nothing. If the files have the values and this process has already sent them to systemd, no call is made.
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
  /** The properties sent last, by unit, for units that exist. */
  const reported = new Map<string, string>();
  return {
    name: "systemd",
    settle,
    begin: (name) => manager.startTransient(sliceOf(name), newSliceProperties(name)),
    async hold(name, values, inPlace) {
      const properties = sliceProperties(values, cgroupVersion);
      const [unit, text] = [sliceOf(name), textOf(properties)];
      if (properties.length === 0 || (inPlace === "inPlace" && reported.get(unit) === text)) return;
      await manager.setProperties(unit, properties);
      reported.set(unit, text);
    },
    async end(name, signal) {
      const unit = sliceOf(name);
      reported.delete(unit);
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
