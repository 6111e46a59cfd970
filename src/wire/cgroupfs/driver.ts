/**
 * What differs between the two cgroup drivers: the names of directories, and whether another cgroup manager (systemd)
 * must be notified. Cgroup files are written the same way. Names are complete, from the root cgroup.
 */
import type { CgroupName, CgroupValues } from "../../domain/resources/cgroup-values.ts";
import type { CgroupDriver } from "../../domain/runtime/runtime-info.ts";

export interface GroupDriver {
  readonly name: CgroupDriver;
  /** Adjusts values to what both the cgroup manager and the cgroup files can hold. */
  settle(values: CgroupValues): CgroupValues;
  /** Called before the cgroup's directory is created. */
  begin(name: CgroupName): Promise<void>;
  /** Called before files are written, and also if no file has to be written. */
  hold(name: CgroupName, values: CgroupValues, inPlace: "inPlace" | "differs"): Promise<void>;
  /**
   * Called when no process is left in the cgroup, before its directory is removed. An unreachable manager does not
   * block the removal: this rejects only with the signal's reason.
   */
  end(name: CgroupName, signal: AbortSignal): Promise<void>;
}

/** The kernel is the only cgroup manager. */
export const cgroupfsDriver: GroupDriver = {
  name: "cgroupfs",
  settle: (values) => values,
  begin: () => Promise.resolve(),
  hold: () => Promise.resolve(),
  end: () => Promise.resolve(),
};
