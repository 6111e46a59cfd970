/**
 * Long-lived programs of a cluster. They run in the namespaces of an anchor and in a cgroup of the cluster, log to a
 * file, and do not depend on the process that started them.
 */
import { spawn } from "node:child_process";
import { open, readdir, readFile } from "node:fs/promises";
import { noteStarted } from "../started-parts.ts";
import { procsFiles } from "./cgroups.ts";
import type { ComponentRecord, ReadyCheck } from "./record.ts";
import { waitUntil } from "./wait.ts";

export interface Launch {
  readonly name: string;
  /** The program's name for the record of started parts, when `name` does not begin with it. */
  readonly part?: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The process whose network, mount, UTS and cgroup namespaces the program shares. */
  readonly anchor?: { readonly name: string; readonly pid: number };
  readonly cgroup: string;
  readonly logFile: string;
  readonly ready: ReadyCheck;
}

/** Namespaces that an anchor keeps alive and its programs enter. */
const ENTERED = ["--net", "--mount", "--uts", "--cgroup"] as const;

export async function launch({
  name,
  part = name.split(/[@ ]/, 1).join(),
  command,
  env = {},
  anchor,
  cgroup,
  logFile,
  ready,
}: Launch): Promise<ComponentRecord> {
  const log = await open(logFile, "a");
  try {
    const enter = anchor === undefined ? [] : ["nsenter", "-t", String(anchor.pid), ...ENTERED, "--"];
    // The shell moves itself into the cgroup before it execs the program, so the program never runs outside the cgroup.
    const join = (await procsFiles(cgroup)).map((file) => `echo $$ > ${file}`).join(" && ");
    const child = spawn("/bin/sh", ["-c", `${join} && exec "$@"`, name, ...enter, ...command], {
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", ...env },
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.unref();
    if (child.pid === undefined) throw new Error(`${name} has no pid`);
    noteStarted(part);
    return {
      name,
      command,
      env,
      ...(anchor === undefined ? {} : { anchor: anchor.name }),
      cgroup,
      logFile,
      ready,
      pid: child.pid,
      startTicks: (await startTicks(child.pid)) ?? "",
    };
  } finally {
    await log.close();
  }
}

/** Start time of a process in clock ticks since boot; undefined once it is gone or a zombie. */
export async function startTicks(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  // The program's name is in parentheses and may contain anything; fields are counted after it.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields === undefined) return undefined;
  // The first thread may have exited while others still hold the process's files and ports.
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  return fields[0] === "Z" && threads.length <= 1 ? undefined : fields[19];
}

export async function isAlive({ pid, startTicks: since }: { readonly pid: number; readonly startTicks: string }) {
  return (await startTicks(pid)) === since;
}

/** Sends a signal, unless the process is gone. */
export async function sendSignal(component: ComponentRecord, signal: NodeJS.Signals): Promise<void> {
  if (!(await isAlive(component))) return;
  try {
    process.kill(component.pid, signal);
  } catch (error) {
    // The process exited between the check and the signal.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Sends SIGSTOP and waits until every thread has stopped; until then the process may still answer. */
export async function pauseHard(component: ComponentRecord): Promise<void> {
  await sendSignal(component, "SIGSTOP");
  await waitUntil(`${component.name} to stand still`, 60_000, () => standsStill(component.pid), 10);
}

async function standsStill(pid: number): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`);
  const states = threads.map(async (thread) => {
    const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, "utf8").catch(() => ") T");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
  });
  return (await Promise.all(states)).every(Boolean);
}

/** Sends SIGKILL and waits until the process is gone. */
export async function killHard(component: ComponentRecord): Promise<void> {
  await sendSignal(component, "SIGKILL");
  await waitUntil(`${component.name} to be gone`, 60_000, async () => !(await isAlive(component)), 10);
}

/** Sends SIGTERM and waits until the process is gone. */
export async function endGently(component: ComponentRecord): Promise<void> {
  await sendSignal(component, "SIGTERM");
  await waitUntil(`${component.name} to end`, 30_000, async () => !(await isAlive(component)), 10);
}
