/**
 * In what the two drivers differ: what a group's folder is called, and who else keeps groups and must be told. Files are written alike.
 * Names are whole, from the root of all groups.
 */
import type { CgroupName, CgroupValues } from "../../domain/resources/cgroup-values.ts";
import type { CgroupDriver } from "../../domain/runtime/runtime-info.ts";

export interface GroupDriver {
  readonly name: CgroupDriver;
  /** The values that both the keeper and the files can hold. */
  settle(values: CgroupValues): CgroupValues;
  /** Before the group's folder is made. */
  begin(name: CgroupName): Promise<void>;
  /** Before files are written, and also where none has to be. */
  hold(name: CgroupName, values: CgroupValues, inPlace: "inPlace" | "differs"): Promise<void>;
  /** When nothing runs in it any more, before its folder goes. A keeper who cannot be reached does not hold it back: rejects only with the signal's reason. */
  end(name: CgroupName, signal: AbortSignal): Promise<void>;
}

/** Nobody but the kernel. */
export const cgroupfsDriver: GroupDriver = {
  name: "cgroupfs",
  settle: (values) => values,
  begin: () => Promise.resolve(),
  hold: () => Promise.resolve(),
  end: () => Promise.resolve(),
};
