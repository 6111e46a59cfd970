/**
 * The node's cgroups, by name from the root ("kubepods", "burstable", "pod<uid>"), independent of cgroup driver and
 * version. Rejects with an Error that names the cgroup and the file.
 */
import type { CgroupName, CgroupValues } from "../domain/resources/cgroup-values.ts";
import type { CgroupDriver } from "../domain/runtime/runtime-info.ts";

export interface CgroupMemory {
  /** Memory in use that cannot be reclaimed at once, of the cgroup and its descendants. */
  readonly workingSetBytes: bigint;
  /** Undefined: no limit. */
  readonly limitBytes: bigint | undefined;
}

export interface Cgroups {
  readonly version: 1 | 2;
  /** Decides the external form of cgroup names: paths or systemd slices. */
  readonly driver: CgroupDriver;
  /** The cgroup parent to pass to the runtime. */
  pathOf(name: CgroupName): string;
  /** Whether the kernel accounts swap, without which a swap limit cannot be set. The cgroup must exist. */
  hasSwapAccounting(name: CgroupName): Promise<boolean>;
  exists(name: CgroupName): Promise<boolean>;
  /** Why the cgroup is missing or incomplete, in the Go kubelet's words; undefined if it exists. */
  validationError(name: CgroupName): Promise<string | undefined>;
  /** Creates the cgroup with its parents, or updates the values of an existing one. */
  apply(name: CgroupName, values: CgroupValues): Promise<void>;
  /** Names of the direct children; empty if the cgroup does not exist. */
  children(name: CgroupName): Promise<readonly string[]>;
  /** Undefined if the cgroup does not exist. */
  memory(name: CgroupName): Promise<CgroupMemory | undefined>;
  /**
   * Hints that processes in the cgroup or below it met a limit or a protection of memory; coalesced, and some come
   * without reason. Ends when the signal aborts, and at once with version 1.
   */
  memoryEvents(name: CgroupName, signal: AbortSignal): AsyncIterable<void>;
  /** PIDs in the cgroup and its descendants. */
  processes(name: CgroupName): Promise<readonly number[]>;
  /**
   * Kills the processes in the cgroup (five attempts) and removes it with its descendants. Succeeds if it does not
   * exist.
   */
  destroy(name: CgroupName, signal: AbortSignal): Promise<void>;
}
