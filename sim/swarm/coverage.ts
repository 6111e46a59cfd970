/**
 * Counts the situations that must occur at least once in a whole run of the swarm; without them the run has shown
 * nothing about them.
 */
import type { PortCall } from "../port-calls.ts";

const VOLUME_PATH = /\/pods\/[^/]+\/volumes\//;

const MOUNT_PHASES = {
  mountMemory: "mounting a tmpfs",
  bind: "bind-mounting a directory",
  bindSubPath: "bind-mounting a subPath",
  mountDevice: "mounting a device",
  applyFsGroup: "applying an fsGroup",
  unmount: "unmounting",
  removeTree: "removing a volume's contents",
} as const;

const OTHER_PHASES = [
  "pulling",
  "requesting a token",
  "writing a set of files",
  "switching to a set of files",
  "linking file names",
  "removing volume directories",
] as const;

type Phase = (typeof MOUNT_PHASES)[keyof typeof MOUNT_PHASES] | (typeof OTHER_PHASES)[number];

/** The phase of the work on volumes and images that a call belongs to; undefined if none. */
export function phaseOf({ port, name, target }: PortCall): Phase | undefined {
  if (port === "runtime" && name === "PullImage") return "pulling";
  if (port === "api" && name === "CREATE" && target.startsWith("serviceaccounts/token")) return "requesting a token";
  if (port === "mounts") return name in MOUNT_PHASES ? MOUNT_PHASES[name as keyof typeof MOUNT_PHASES] : undefined;
  // A call is known by its first argument; for a link this is the link's target.
  if (port === "files" && name === "link" && target.startsWith("..data/")) return "linking file names";
  if (port !== "files" || !VOLUME_PATH.test(target)) return undefined;
  if (name === "writeNew") return "writing a set of files";
  if (name === "rename") return "switching to a set of files";
  return name === "removeDirectory" ? "removing volume directories" : undefined;
}

export const killedWhile = <P extends Phase>(phase: P) => `killed while ${phase}` as const;
export const lostReply = (call: string) => `the reply to ${call} was lost` as const;

/** None of them may be zero after a full-size run. */
export const LIFECYCLE_SITUATIONS = [
  "an init container ran again after it had failed",
  "a sidecar ran again",
  "a sidecar terminated after the containers that it serves",
  "a postStart hook ran",
  "a preStop hook ran",
  "a hook used up the grace period of its container",
  "the agent was killed while a hook ran",
  "a probe terminated a container",
  "an unready container became ready",
  "a probe could not be sent",
  "a restart rule restarted a container",
  "a restart waited for its back-off",
  "a back-off outlived its agent",
  "an ephemeral container started",
  "a pod was preempted by a critical pod",
  "a pod was admitted after it had waited",
  "a process of a pod was killed",
  "a running container was resized",
  "a running sidecar was resized",
  "a container was resized by a restart",
  "a resize was deferred",
  "a deferred resize was granted",
  "a resize was infeasible",
  "a resize was refused because of the usage",
  "a pod was resized while no agent ran",
  "a pod was resized while the API server was away",
  "the agent was killed while a resize was deferred",
  "the agent was killed during a resize",
] as const;

export const PRESSURE_SITUATIONS = [
  "a pod was evicted for a threshold",
  "the rank of an evicted pod was judged",
  "the agent was killed during an eviction",
  "a pod was evicted for a limit of its own",
  "an image was removed",
] as const;

const SITUATIONS = [
  "an object changed while a pod that uses it started",
  "files changed under a running container",
  "a token was renewed",
  "the agent was killed while volumes were torn down",
  "volumes of an unknown pod were found and torn down",
  "a pod was deleted while its volumes were set up",
  "a disk was full while a volume was written",
  "a mount was busy after its pod had ended",
  "a pull failed",
  "a pull was cut short",
  "the machine restarted with volumes mounted",
  "the agent started on a damaged journal",
] as const;

const PHASES: readonly Phase[] = [...Object.values(MOUNT_PHASES), ...OTHER_PHASES];
const CALLS = [...Object.keys(MOUNT_PHASES), "kindOf"];

export type Situation =
  | (typeof LIFECYCLE_SITUATIONS)[number]
  | (typeof PRESSURE_SITUATIONS)[number]
  | (typeof SITUATIONS)[number]
  | ReturnType<typeof killedWhile<Phase>>
  | ReturnType<typeof lostReply>;

/** Situations of volumes and images: none of them may be zero after a full-size run. */
export const VOLUME_SITUATIONS: readonly Situation[] = [
  ...PHASES.map((phase) => killedWhile(phase)),
  ...CALLS.map(lostReply),
  ...SITUATIONS,
];

export class Coverage {
  readonly #counts = new Map<string, number>();

  note(situation: Situation): void {
    this.#counts.set(situation, this.count(situation) + 1);
  }

  count(situation: Situation): number {
    return this.#counts.get(situation) ?? 0;
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  add(other: ReadonlyMap<string, number>): void {
    for (const [situation, count] of other) this.#counts.set(situation, (this.#counts.get(situation) ?? 0) + count);
  }

  /** Returns the situations of the list that did not occur. */
  missing(list: readonly Situation[]): readonly Situation[] {
    return list.filter((situation) => this.count(situation) === 0);
  }
}
