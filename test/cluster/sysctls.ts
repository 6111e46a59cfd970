/**
 * The kernel settings that a kubelet writes are the machine's, not the cluster's. The first cluster to start records
 * them, and the last one to end restores them.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clustersRoot } from "./layout.ts";

const SETTINGS = [
  "vm/overcommit_memory",
  "vm/panic_on_oom",
  "kernel/panic",
  "kernel/panic_on_oops",
  "kernel/keys/root_maxkeys",
  "kernel/keys/root_maxbytes",
  "net/netfilter/nf_conntrack_max",
] as const;

const noteFile = () => join(clustersRoot(), ".kernel-settings.json");

type Noted = Readonly<Record<string, string>>;

export async function readSysctls(): Promise<Noted> {
  const noted: Record<string, string> = {};
  for (const name of SETTINGS) {
    const value = await readFile(`/proc/sys/${name}`, "utf8").catch(() => undefined);
    if (value !== undefined) noted[name] = value.trim();
  }
  return noted;
}

/** Keeps the record of a cluster that is still up, or whose `up` was killed: it holds the machine's own values. */
export async function noteSysctls(): Promise<void> {
  await mkdir(clustersRoot(), { recursive: true });
  try {
    await writeFile(noteFile(), JSON.stringify(await readSysctls()), { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** The machine's own values: the recorded ones while a cluster is up, otherwise the current ones. */
export async function machineSysctls(): Promise<Noted> {
  const text = await readFile(noteFile(), "utf8").catch(() => undefined);
  return text === undefined ? readSysctls() : (JSON.parse(text) as Noted);
}

/** Restores changed settings, and returns those that could not be restored. */
export async function restoreSysctls(): Promise<readonly string[]> {
  const text = await readFile(noteFile(), "utf8").catch(() => undefined);
  if (text === undefined) return [];
  const left: string[] = [];
  const now = await readSysctls();
  for (const [name, value] of Object.entries(JSON.parse(text) as Noted)) {
    if (now[name] === value) continue;
    await writeFile(`/proc/sys/${name}`, value).catch(() => undefined);
    const after = (await readFile(`/proc/sys/${name}`, "utf8")).trim();
    if (after !== value) left.push(`kernel setting ${name} is ${after}, was ${value}`);
  }
  if (left.length === 0) await rm(noteFile(), { force: true });
  return left;
}
