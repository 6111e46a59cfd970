/**
 * Reads OOM kills from the kernel's messages, one message after the other. Since 5.0 one line contains everything
 * ("oom-kill:constraint=..."). Before that, the cgroup and the victim are on separate lines, after the line that begins
 * the report.
 */

export interface OomKill {
  /** The cgroup whose limit was reached; "/": the whole machine was out of memory. */
  readonly group: string;
  /** `process` is empty and `pid` is 0 if the kernel did not report them. */
  readonly process: string;
  readonly pid: number;
}

/** A kill whose report is not complete yet. Undefined: none. */
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
  // A report that begins while another is open: the end of the earlier one was lost.
  if (BEGIN.test(text)) return { reading: { group: "/" } };
  // Lines of a report whose beginning was not read, such as the second victim of a cgroup.
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

/**
 * The message of the node's event; undefined for a cgroup that reached its own limit, which concerns only that
 * container.
 */
export function systemOomMessage({ group, process, pid }: OomKill): string | undefined {
  if (group !== "/") return undefined;
  const victim = process === "" || pid === 0 ? "" : `, victim process: ${process}, pid: ${pid}`;
  return `System OOM encountered${victim}`;
}
