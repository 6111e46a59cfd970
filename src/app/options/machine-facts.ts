/** The facts about the machine that the options depend on. */
import { statfsSync } from "node:fs";
import { hostname } from "node:os";

export interface MachineOfOptions {
  readonly hostname: string;
  readonly cgroupVersion: 1 | 2;
  readonly uid: number;
  readonly workingDirectory: string;
  /** Empty if the environment does not set HOME. */
  readonly homeDirectory: string;
}

const CGROUP2_MAGIC = 0x63_67_72_70;

export function readMachine(): MachineOfOptions {
  return {
    hostname: hostname(),
    cgroupVersion: cgroupVersion(),
    uid: process.getuid?.() ?? 0,
    workingDirectory: process.cwd(),
    homeDirectory: process.env["HOME"] ?? "",
  };
}

/** A machine without the usual mount counts as cgroup v1. */
function cgroupVersion(): 1 | 2 {
  try {
    return statfsSync("/sys/fs/cgroup").type === CGROUP2_MAGIC ? 2 : 1;
  } catch {
    return 1;
  }
}
