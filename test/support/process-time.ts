/** The CPU time of a process so far, in user and kernel mode. */
import { readFile } from "node:fs/promises";

/** USER_HZ is 100 on every architecture that Linux still supports. */
const TICK_MS = 10;

export async function cpuMsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1");
  // The program's name is in parentheses and may contain anything; fields are counted after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return TICK_MS * (Number(fields[11]) + Number(fields[12]));
}
