/** The CPU time of a process so far, in user and kernel mode. */
import { readFile } from "node:fs/promises";

/** What USER_HZ is on every architecture that Linux still has. */
const TICK_MS = 10;

export async function cpuMsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1");
  // The program's name is in parentheses and may hold anything; the fields are counted from after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return TICK_MS * (Number(fields[11]) + Number(fields[12]));
}
