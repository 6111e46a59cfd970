/**
 * Kills for want of memory, read out of the kernel's messages one after the other. Since 5.0 one line says it all ("oom-kill:constraint=..."), before
 * that the control group and the victim stand in lines of their own, after the one that begins it.
 */

export interface OomKill {
  /** The control group whose limit was met; "/": the whole machine was out of memory. */
  readonly group: string;
  /** Empty and 0 where the kernel did not say. */
  readonly process: string;
  readonly pid: number;
}

/** What was read of a kill that is not told to its end yet. Undefined: nothing. */
export type OomReading = { readonly group: string } | undefined;

const BEGIN = /invoked oom-killer:/;
const WHOLE =
  /oom-kill:constraint=.*,(?:global_oom|oom_memcg=(?<group>.*)),task_memcg=.*,task=(?<task>.*),pid=(?<pid>\d+),uid=\d+/;
const GROUP = /Task in .* killed as a result of limit of (?<group>.*)/;
const VICTIM = /Killed process (?<pid>\d+) \((?<task>.+)\)/;

export function readOomLine(
  reading: OomReading,
  text: string,
): { readonly reading: OomReading; readonly kill?: OomKill } {
  // One that begins anew while another is open: the end of that one was lost.
  if (BEGIN.test(text)) return { reading: { group: "/" } };
  // Lines of a kill whose beginning was not seen, such as the second victim of a group.
  if (reading === undefined) return { reading };
  const whole = WHOLE.exec(text)?.groups;
  if (whole !== undefined) return { reading: undefined, kill: killOf(whole["group"] ?? "/", whole) };
  const group = GROUP.exec(text)?.groups?.["group"];
  if (group !== undefined) return { reading: { group: group.startsWith("/") ? group : `/${group}` } };
  const victim = VICTIM.exec(text)?.groups;
  return victim === undefined ? { reading } : { reading: undefined, kill: killOf(reading.group, victim) };
}

const killOf = (group: string, { task = "", pid = "0" }: Readonly<Record<string, string | undefined>>): OomKill => ({
  group,
  process: task,
  pid: Number(pid),
});

/** What the node's event says; undefined for a group that met its own limit, which is that container's affair. */
export function systemOomMessage({ group, process, pid }: OomKill): string | undefined {
  if (group !== "/") return undefined;
  const victim = process === "" || pid === 0 ? "" : `, victim process: ${process}, pid: ${pid}`;
  return `System OOM encountered${victim}`;
}
