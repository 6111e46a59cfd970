/** The machine's disks: their names by device number, and their counters in /proc/diskstats. */
import type { DiskStats } from "../../../domain/stats/stats-reading.ts";
import { readText } from "./small-files.ts";

export interface DeviceNames {
  /** Empty if the device is no disk. */
  nameOf(major: number, minor: number): string;
}

/** The devices that cAdvisor counts as disks: no loop devices, no RAM disks. */
const DISK = /^(?:(?:s|v|xv)d[a-z]+\d*|dm-\d+|nvme\d+n\d+(?:p\d+)?)$/;

interface Disk {
  readonly device: string;
  readonly stats: DiskStats;
}

/** Reads the file once for a whole reading. */
export class Disks implements DeviceNames {
  readonly #byNumber: ReadonlyMap<string, Disk>;

  constructor(path: string) {
    this.#byNumber = parseDiskstats(readText(path) ?? "");
  }

  nameOf(major: number, minor: number): string {
    return this.#byNumber.get(`${major}:${minor}`)?.device ?? "";
  }

  figuresOf(numbers: string): DiskStats | undefined {
    return this.#byNumber.get(numbers)?.stats;
  }
}

function parseDiskstats(text: string): ReadonlyMap<string, Disk> {
  const disks = new Map<string, Disk>();
  for (const line of text.split("\n")) {
    const [major = "", minor = "", name = "", ...counts] = line.trim().split(/\s+/);
    if (!DISK.test(name) || counts.length < 11) continue;
    const at = (index: number) => Number(counts[index]);
    const stats: DiskStats = {
      reads: at(0),
      readsMerged: at(1),
      sectorsRead: at(2),
      readMs: at(3),
      writes: at(4),
      writesMerged: at(5),
      sectorsWritten: at(6),
      writeMs: at(7),
      inProgress: at(8),
      ioMs: at(9),
      weightedIoMs: at(10),
    };
    disks.set(`${major}:${minor}`, { device: `/dev/${name}`, stats });
  }
  return disks;
}
