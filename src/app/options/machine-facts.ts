/** What of the machine the options depend on. */
import { statfsSync } from "node:fs";
import { hostname } from "node:os";

export interface MachineOfOptions {
  readonly hostname: string;
  readonly cgroupVersion: 1 | 2;
  readonly uid: number;
  readonly workingFolder: string;
  /** Empty where the environment names none. */
  readonly homeFolder: string;
}

const CGROUP2_MAGIC = 0x63_67_72_70;

export function readMachine(): MachineOfOptions {
  return {
    hostname: hostname(),
    cgroupVersion: cgroupVersion(),
    uid: process.getuid?.() ?? 0,
    workingFolder: process.cwd(),
    homeFolder: process.env["HOME"] ?? "",
  };
}

/** A machine without the usual mount is no machine of version 2. */
function cgroupVersion(): 1 | 2 {
  try {
    return statfsSync("/sys/fs/cgroup").type === CGROUP2_MAGIC ? 2 : 1;
  } catch {
    return 1;
  }
}
