/**
 * The node's control groups, by name from the root ("kubepods", "burstable", "pod<uid>"), whatever the driver and version make of
 * them. Rejects with an Error that names the group and the file.
 */
import type { CgroupName, CgroupValues } from "../domain/resources/cgroup-values.ts";
import type { CgroupDriver } from "../domain/runtime/runtime-info.ts";

export interface CgroupMemory {
  /** In use and not to be had back at once, by the group and all below it. */
  readonly workingSetBytes: bigint;
  /** Undefined: no limit. */
  readonly limitBytes: bigint | undefined;
}

export interface Cgroups {
  readonly version: 1 | 2;
  /** Which form names have outside: paths, or systemd's slices. */
  readonly driver: CgroupDriver;
  /** What the runtime is given as a parent for this group. */
  pathOf(name: CgroupName): string;
  /** Whether the kernel counts swap, so that a limit of it can be set at all. Asked of a group that is there. */
  countsSwap(name: CgroupName): Promise<boolean>;
  exists(name: CgroupName): Promise<boolean>;
  /** What keeps it from being there as it should, in the Go kubelet's words; undefined where it exists. */
  flaw(name: CgroupName): Promise<string | undefined>;
  /** Makes the group with its parents, or brings the values of an existing one to these. */
  apply(name: CgroupName, values: CgroupValues): Promise<void>;
  /** The names of groups directly below. Empty when there is no such group. */
  children(name: CgroupName): Promise<readonly string[]>;
  /** Undefined when there is no such group. */
  memory(name: CgroupName): Promise<CgroupMemory | undefined>;
  /** Of the group and all below it. */
  processes(name: CgroupName): Promise<readonly number[]>;
  /** Kills what runs in it (five attempts) and removes it with all below. Succeeds when there is none. */
  destroy(name: CgroupName, signal: AbortSignal): Promise<void>;
}
