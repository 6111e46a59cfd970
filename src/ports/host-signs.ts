/**
 * What can be seen of a host from outside any agent, for who says whether one could run there. Nothing here changes the host. Every call rejects
 * with an Error that says what could not be looked at, and never answers as if something were not there that only could not be read.
 */
import type { AgentProcess, CgroupTree, Listener } from "../domain/doctor/facts.ts";

export interface HostSigns {
  /** Those that the kernel can mount now. */
  fileSystems(): Promise<readonly string[]>;
  /** What swaps now: devices and files. */
  swapDevices(): Promise<readonly string[]>;
  /** Undefined: none are mounted. */
  cgroupTree(): Promise<CgroupTree | undefined>;
  isRunBySystemd(): Promise<boolean>;
  /** Who listens for TCP on these ports in this process's network. */
  listeners(ports: readonly number[]): Promise<readonly Listener[]>;
  /** The kubelets of either kind in this process's network, or with the lock of this file. */
  agents(lockFile: string): Promise<readonly AgentProcess[]>;
  /** Whether it is found as a shell would find it. */
  hasProgram(name: string): Promise<boolean>;
  /** A small file, links followed. */
  text(path: string): Promise<string>;
  /** Sorted; empty where there is no such folder. */
  names(folder: string): Promise<readonly string[]>;
  /** Rejects where this process may not read it. */
  requireReadable(path: string): Promise<void>;
  /** The path itself, or the nearest folder above it that is there. */
  nearest(path: string): Promise<string>;
  /** Why nothing can be made in the folder; undefined when it can. */
  writeTrouble(folder: string): Promise<string | undefined>;
}
