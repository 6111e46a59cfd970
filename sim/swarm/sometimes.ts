/**
 * Situations that must occur at least once in a whole run of the swarm; otherwise the run has shown nothing about them.
 */
import type { PortCall } from "../port-calls.ts";

const VOLUME_PATH = /\/pods\/[^/]+\/volumes\//;

/** The phase of the work on volumes and images that a call belongs to; undefined if none. */
export function phaseOf({ port, name, target }: PortCall): string | undefined {
  if (port === "runtime" && name === "PullImage") return "pulling";
  if (port === "api" && name === "CREATE" && target.startsWith("serviceaccounts/token")) return "asking for a token";
  if (port === "mounts") return MOUNT_PHASES.get(name);
  // A call is known by its first argument; for a link this is the link's target.
  if (port === "files" && name === "link" && target.startsWith("..data/")) return "linking names of files";
  if (port !== "files" || !VOLUME_PATH.test(target)) return undefined;
  if (name === "writeNew") return "writing a set of files";
  if (name === "rename") return "changing over to a set of files";
  return name === "removeDirectory" ? "removing directories of volumes" : undefined;
}

const MOUNT_PHASES: ReadonlyMap<string, string> = new Map([
  ["mountMemory", "mounting memory"],
  ["bind", "binding a disk"],
  ["bindSubPath", "binding a part of a volume"],
  ["mountDevice", "mounting a device"],
  ["applyFsGroup", "handing a volume to a group"],
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
  "removing directories of volumes",
];

const LOST = [...MOUNT_PHASES.keys(), "kindOf"];

export const killedWhile = (phase: string) => `killed while ${phase}`;
export const lostReply = (verb: string) => `the reply to ${verb} was lost`;

/** Situations of the container lifecycle: none of them may be zero after a full-size run. */
export const IN_LIVES: readonly string[] = [
  "an init container ran again after it had failed",
  "a sidecar ran again",
  "a sidecar ended after those that it serves",
  "a hook was run upon a start",
  "a hook was run before an end",
  "a hook used up the grace of its container",
  "the agent died while a hook was run",
  "a probe ended a container",
  "one that was not well became ready",
  "a question could not be put",
  "a rule let a container run again",
  "a restart waited for its back-off",
  "a back-off outlived its agent",
  "somebody looked in",
  "a pod ended for a critical one",
  "a pod was taken after it had waited",
  "a process of a pod was killed",
  "a container was given other resources while it ran",
  "a sidecar was given other resources while it ran",
  "a container took other resources by a restart",
  "a resize waited for room",
  "a resize was granted after it had waited",
  "a resize could never be granted",
  "a resize was refused for what is in use",
  "a pod was resized while no agent ran",
  "a pod was resized and the agent could not be told",
  "the agent died while a resize waited",
  "the agent died in the midst of a resize",
];

/** Situations of volumes and images: none of them may be zero after a full-size run. */
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
  readonly #counts = new Map<string, number>([...SOMETIMES, ...IN_LIVES].map((what) => [what, 0]));

  note(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  add(other: ReadonlyMap<string, number>): void {
    for (const [what, count] of other) this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
  }

  /** Returns the required situations that did not occur. */
  never(list: readonly string[]): readonly string[] {
    return list.filter((what) => (this.#counts.get(what) ?? 0) === 0);
  }
}
