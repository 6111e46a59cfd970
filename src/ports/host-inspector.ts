/**
 * Inspects a host independently of any kubelet process, to check whether a kubelet can run on it. Nothing here changes
 * the host. Every call rejects with an Error that names what could not be read. A read failure is never reported as
 * absence.
 */
import type { AgentProcess, CgroupTree, Listener } from "../domain/doctor/facts.ts";

export interface HostInspector {
  /** File system types that the kernel can mount now. */
  fileSystems(): Promise<readonly string[]>;
  /** Active swap devices and files. */
  swapDevices(): Promise<readonly string[]>;
  /** Undefined if no cgroups are mounted. */
  cgroupTree(): Promise<CgroupTree | undefined>;
  isRunBySystemd(): Promise<boolean>;
  /** Processes that listen on these TCP ports in this process's network namespace. */
  listeners(ports: readonly number[]): Promise<readonly Listener[]>;
  /** Kubelets of either kind (Go or Deckhand) in this process's network namespace, and holders of this lock file. */
  agents(lockFile: string): Promise<readonly AgentProcess[]>;
  /** Whether the search path contains the executable. */
  hasProgram(name: string): Promise<boolean>;
  /** Reads a small file; follows links. */
  text(path: string): Promise<string>;
  /** Sorted; empty if the directory does not exist. */
  names(directory: string): Promise<readonly string[]>;
  /** Rejects if this process may not read the path. */
  requireReadable(path: string): Promise<void>;
  /** The path itself, or its nearest existing parent directory. */
  nearest(path: string): Promise<string>;
  /** Why nothing can be created in the directory; undefined if it is writable. */
  writeTrouble(directory: string): Promise<string | undefined>;
}
