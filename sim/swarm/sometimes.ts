/** What must have happened at least once in a whole run of the swarm, or it has shown nothing of it. */
import type { PortCall } from "../port-calls.ts";

const VOLUME_PATH = /\/pods\/[^/]+\/volumes\//;

/** Which phase of the work on volumes and images a call belongs to; undefined: none. */
export function phaseOf({ port, name, target }: PortCall): string | undefined {
  if (port === "runtime" && name === "PullImage") return "pulling";
  if (port === "api" && name === "CREATE" && target.startsWith("serviceaccounts/token")) return "asking for a token";
  if (port === "mounts") return MOUNT_PHASES.get(name);
  if (port !== "files" || !VOLUME_PATH.test(target)) return undefined;
  if (name === "writeNew") return "writing a set of files";
  if (name === "rename") return "changing over to a set of files";
  if (name === "link") return "linking names of files";
  return name === "removeFolder" ? "removing folders of volumes" : undefined;
}

const MOUNT_PHASES: ReadonlyMap<string, string> = new Map([
  ["mountMemory", "mounting memory"],
  ["bind", "binding a disk"],
  ["bindSubPath", "binding a part of a volume"],
  ["mountDevice", "mounting a device"],
  ["own", "handing a volume to a group"],
  ["unmount", "unmounting"],
  ["removeTree", "removing what a volume held"],
]);

const PHASES = [
  ...new Set(MOUNT_PHASES.values()),
  "pulling",
  "asking for a token",
  "writing a set of files",
  "changing over to a set of files",
  "linking names of files",
  "removing folders of volumes",
];

const LOST = [...MOUNT_PHASES.keys(), "kindOf"];

export const killedWhile = (phase: string) => `killed while ${phase}`;
export const lostReply = (verb: string) => `the reply to ${verb} was lost`;

/** None of them may be zero after a run of the whole size. */
export const SOMETIMES: readonly string[] = [
  ...PHASES.map(killedWhile),
  ...LOST.map(lostReply),
  "an object changed while a pod that uses it started",
  "files were changed under a running container",
  "a token was renewed",
  "the agent died while volumes were taken away",
  "volumes of a pod that was gone were found and taken away",
  "a pod ended while its volumes were brought",
  "a disk was full while a volume was written",
  "a mount was busy when its pod had ended",
  "a pull failed",
  "a pull was cut short",
  "the machine restarted with volumes mounted",
  "the agent started on a damaged journal",
];

export class Sometimes {
  readonly #counts = new Map<string, number>(SOMETIMES.map((what) => [what, 0]));

  note(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  add(other: ReadonlyMap<string, number>): void {
    for (const [what, count] of other) this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
  }

  /** Of those that must have happened, those that have not. */
  get never(): readonly string[] {
    return SOMETIMES.filter((what) => (this.#counts.get(what) ?? 0) === 0);
  }
}
