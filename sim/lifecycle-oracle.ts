/**
 * Invariants of container lifecycles, checked against the runtime's actual state alone: the order in which containers
 * start and end, their hooks, their grace periods, which containers may be stopped at all, and how soon they restart.
 */
import { isDeepStrictEqual } from "node:util";
import type { LifecycleHandler, Pod } from "../src/api/gen/core-v1.ts";
import { type ContainerSpec, containerNamed, initContainers } from "../src/domain/pod/containers.ts";
import { hasProbe } from "../src/domain/probes/probe-spec.ts";
import type { CommandRun, ContainerRecord } from "./fake-runtime/records.ts";
import type { FaultLog } from "./fault-log.ts";
import { isEviction, type JournaledPods } from "./journaled-pods.ts";
import { Judgements } from "./judgements.ts";
import type { ResizeOracle } from "./resize-oracle.ts";
import type { SimNode } from "./sim-node.ts";
import type { Situation } from "./swarm/coverage.ts";

export interface LifecycleSight {
  readonly node: SimNode;
  readonly nowMs: () => number;
  readonly podOf: (uid: string) => Pod | undefined;
  readonly pods: () => readonly Pod[];
  /** The pod is gone, or its terminal phase was published. */
  readonly hasEnded: (uid: string) => boolean;
  readonly isForced: (uid: string) => boolean;
  /** When the pod's deletion was requested; infinity if it was not. */
  readonly deletedAtMs: (uid: string) => number;
  /** All containers of a pod that were started, in order. */
  readonly recordsOf: (uid: string) => readonly ContainerRecord[];
  readonly wasEverUnwell: (id: string) => boolean;
  /** When a container last exited so that its restart rules restart all containers; 0: never. */
  readonly requestedForAllNs: (pod: Pod) => bigint;
  /** Which containers may be stopped to restart with other resources. Such a stop costs no back-off. */
  readonly resizes: () => Pick<ResizeOracle, "mayStop" | "wasStopped">;
  readonly faults: FaultLog;
  readonly journaled: JournaledPods;
  /** Whether the agent received the information that this container runs. */
  readonly wasAnswered: (id: string) => boolean;
  /** Since when the agent's watch of its pods is open. */
  readonly watchedSinceMs: () => number | undefined;
  readonly violation: (text: string) => void;
}

interface Hook {
  readonly run: CommandRun;
  readonly life: number;
  readonly runtimeDeaths: number;
  /** The pod was terminating when the hook began. */
  readonly isOfEnd: boolean;
}

interface Seen {
  readonly startedMs: number;
  finishedMs: number | undefined;
  /** The agent's life in which the exit was observed. */
  finishedInLife: number;
  commands: number;
  stops: number;
  /** The latest time until which the container may run, once a stop was requested. */
  endsMs: number | undefined;
  /** The same, for stops requested since the pod's deletion. */
  podEndsMs: number | undefined;
  lastStop: Stop | undefined;
  /** Whether the upper bound of its grace period was judged. */
  isBoundJudged: boolean;
  /** The runs of its preStop hook, and the agent's lives that ran them. */
  readonly preStops: Hook[];
}

/** One StopContainer call, within one life of the agent and of the runtime. */
interface Stop {
  readonly atMs: number;
  readonly endsMs: number;
  readonly life: number;
  readonly runtimeDeaths: number;
  readonly isOfEnd: boolean;
  /** When the pod's grace period ended, by the journal. */
  readonly graceEndsMs: number;
}

/** The minimum grace of a stop: such a stop means that the grace period has run out. */
const LEAST_SECONDS = 2;
const SLACK_MS = 1_500;
/** A container runs at most this long beyond its grace period. */
const BOUND_SLACK_MS = 2_000;
/** The time an agent needs to resume a termination once it has its pods. */
const RESUME_MS = 2_000;
const FIRST_BACKOFF_MS = 10_000;
const BACKOFF_MS_MAX = 300_000;
/**
 * The agent decides how long the next restart waits at most this long before the container runs. Create and start take
 * time.
 */
const DECIDED_MS = 12_000;
/** After a run of about this length the back-off may start from the beginning. */
const LONG_RUN_MS = 590_000;
const CRITICAL = 2_000_000_000;
const KILLED = 137;
/** A probe failure longer ago than this no longer stops a container. */
const HEALTH_MS = 60_000;

export class LifecycleOracle {
  /** Called with descriptions of what was observed, for coverage. */
  note: (situation: Situation) => void = () => {};
  /** Called once, when the next hook is seen to have begun. */
  atNextHook: () => void = () => {};
  readonly judgements = new Judgements();
  readonly #sight: LifecycleSight;
  readonly #seen = new Map<string, Seen>();
  /** Hooks in progress. */
  readonly #hooks = new Set<CommandRun>();
  /** Consecutive restarts, by UID and container name. */
  readonly #restarts = new Map<string, number>();
  /** When a life of the agent first watched its pods. */
  #firstWatch: { readonly life: number; readonly atMs: number } | undefined;

  constructor(sight: LifecycleSight) {
    this.#sight = sight;
  }

  /** Checks each container before the pods are checked. A new start is checked in `started`, when it is first seen. */
  check(): void {
    for (const run of this.#hooks) if (run.ended !== undefined) this.#hooks.delete(run);
    this.#noteWatch();
    for (const record of this.#sight.node.runtime.containers.values()) {
      if (record.startedWallNs === undefined) continue;
      const seen = this.#seen.get(record.id);
      if (seen === undefined) continue;
      if (record.commands.length > seen.commands) this.#checkCommands(record, seen);
      if (record.stops.length > seen.stops) this.#checkStops(record, seen);
      this.#noteEnd(record, seen);
      this.#checkBound(record, seen);
    }
  }

  #noteWatch(): void {
    const { node, nowMs, watchedSinceMs } = this.#sight;
    if (this.#firstWatch?.life === node.lives || !node.isRunning || watchedSinceMs() === undefined) return;
    this.#firstWatch = { life: node.lives, atMs: nowMs() };
  }

  /**
   * Whether hooks were in progress at the last check. The check counts because an agent that has just died has none.
   */
  get hooksUnderWay(): boolean {
    return this.#hooks.size > 0;
  }

  started(record: ContainerRecord, pod: Pod | undefined, before: readonly ContainerRecord[]): void {
    const containerSpec = containerNamed(pod?.spec, nameOf(record));
    const earlier = before.filter((other) => nameOf(other) === nameOf(record));
    const last = earlier.at(-1);
    for (const other of earlier) this.#noteEnd(other, this.#seen.get(other.id));
    if (pod !== undefined && containerSpec !== undefined) {
      this.#checkSetUp(record, containerSpec, pod, before);
      this.#checkPostStarts(record, pod, before);
      if (last !== undefined && !this.#isResized(record, last)) this.#checkBackoff(record, last);
      this.#noteStart(containerSpec, pod, last);
    }
    this.#seen.set(record.id, {
      startedMs: this.#sight.nowMs(),
      finishedMs: undefined,
      finishedInLife: 0,
      commands: 0,
      stops: 0,
      endsMs: undefined,
      podEndsMs: undefined,
      lastStop: undefined,
      isBoundJudged: false,
      preStops: [],
    });
  }

  #noteStart({ role, container }: ContainerSpec, { spec }: Pod, last: ContainerRecord | undefined): void {
    if (role === "ephemeral") this.note("an ephemeral container started");
    if (last === undefined) return;
    if (role === "init" && last.exitCode !== 0) this.note("an init container ran again after it had failed");
    if (role === "sidecar") this.note("a sidecar ran again");
    const hasRules = "restartPolicyRules" in container && container.restartPolicyRules !== undefined;
    if (role === "regular" && hasRules && spec?.restartPolicy === "Never")
      this.note("a restart rule restarted a container");
  }

  /**
   * [3] Before the next container starts, each init container has succeeded and each sidecar has started. No init
   * container starts after the main containers.
   */
  #checkSetUp(
    { sandboxId }: ContainerRecord,
    { role, container }: ContainerSpec,
    { spec, metadata }: Pod,
    before: readonly ContainerRecord[],
  ): void {
    const what = `${container.name} of ${metadata?.name}`;
    const here = before.filter((other) => other.sandboxId === sandboxId);
    const isRegular = ({ config }: ContainerRecord) =>
      spec?.containers.some(({ name }) => name === config.metadata.name) === true;
    if (role === "init" && here.some(isRegular))
      this.#sight.violation(`[3] ${what} sets up a pod whose main containers had begun`);
    const init = initContainers(spec);
    const place = init.findIndex((each) => each.container.name === container.name);
    for (const each of role === "regular" ? init : init.slice(0, Math.max(0, place))) {
      const runs = here.filter((other) => nameOf(other) === each.container.name);
      const isDone =
        each.role === "sidecar"
          ? runs.length > 0
          : runs.some(({ state, exitCode }) => state === "exited" && exitCode === 0);
      if (!isDone) this.#sight.violation(`[3] ${what} started before ${each.container.name} had set up its pod`);
    }
  }

  /** [3] A container's postStart hook is done before the next container starts. */
  #checkPostStarts(record: ContainerRecord, { spec, metadata }: Pod, before: readonly ContainerRecord[]): void {
    for (const other of before) {
      if (other.sandboxId !== record.sandboxId || other.state !== "running") continue;
      const key = keyOf(lifecycleOf(spec, nameOf(other))?.postStart);
      if (key === undefined) continue;
      const isDone = other.commands.some((run) => runKey(run) === key && run.ended && run.ended.exitCode !== KILLED);
      if (isDone || this.#mayLackHook(other)) continue;
      this.#sight.violation(
        `[3] ${nameOf(record)} of ${metadata?.name} started before the hook of ${nameOf(other)} upon its start was done`,
      );
    }
  }

  /** Whether the last run was stopped to change its resources, so that the restart costs no back-off. */
  #isResized(record: ContainerRecord, last: ContainerRecord): boolean {
    if (!this.#sight.resizes().wasStopped(last.id)) return false;
    if (isLike(record, last)) return true;
    this.note("a container was resized by a restart");
    this.#restarts.set(restartKey(record), 0);
    return true;
  }

  /**
   * [2] A container that keeps exiting waits longer each time, also across agent restarts. Changed resources reset the
   * back-off.
   */
  #checkBackoff(record: ContainerRecord, last: ContainerRecord): void {
    const key = restartKey(record);
    const seen = this.#seen.get(last.id);
    const [endMs, startMs] = [seen?.finishedMs, seen?.startedMs];
    const isAfresh =
      endMs === undefined ||
      startMs === undefined ||
      endMs - startMs > LONG_RUN_MS ||
      !isLike(record, last) ||
      last.sandboxId !== record.sandboxId;
    const restarts = isAfresh ? 1 : (this.#restarts.get(key) ?? 0) + 1;
    this.#restarts.set(key, restarts);
    if (isAfresh || restarts < 2) return;
    const dueMs = Math.min(BACKOFF_MS_MAX, FIRST_BACKOFF_MS * 2 ** (restarts - 2));
    const waitedMs = this.#sight.nowMs() - endMs;
    this.note("a restart waited for its back-off");
    if (seen?.finishedInLife !== this.#sight.node.lives) this.note("a back-off outlived its agent");
    const isExcused = this.#sight.faults.concerned("memory", startMs - DECIDED_MS, uidOf(record));
    // It is unknown which earlier restarts the agent still remembers.
    if (isExcused) this.#restarts.set(key, 1);
    if (this.judgements.applies("back-off", isExcused) && waitedMs < dueMs - SLACK_MS)
      this.#sight.violation(
        `[2] ${nameOf(record)} of ${this.#podName(record)} came again after ${waitedMs} ms, and ${dueMs} were due`,
      );
  }

  #noteEnd({ state, process }: ContainerRecord, seen: Seen | undefined): void {
    if (seen === undefined || seen.finishedMs !== undefined) return;
    if (state !== "exited" && process?.end === undefined) return;
    seen.finishedMs = this.#sight.nowMs();
    seen.finishedInLife = this.#sight.node.lives;
  }

  /**
   * [4] A container runs no longer than the grace period of its termination. The minimum grace is added when a hook
   * used up the grace period, and once more for each sidecar that waits for others. A restarted agent resumes the
   * termination once it has its pods.
   */
  #checkBound(record: ContainerRecord, seen: Seen): void {
    const { node, nowMs, journaled, faults, violation } = this.#sight;
    const { termination } = journaled.of(uidOf(record));
    if (termination === undefined || seen.isBoundJudged) return;
    const resumedMs = termination.life === node.lives ? termination.sinceMs : this.#resumedMs();
    const hasExited = seen.finishedMs !== undefined;
    if (
      !hasExited &&
      (!node.isRunning || resumedMs === undefined || record.state !== "running" || record.overlooked === true)
    )
      return;
    const fromMs = Math.max(termination.endsMs, resumedMs ?? 0, seen.startedMs);
    const boundMs = fromMs + LEAST_SECONDS * 1_000 * (1 + this.#waitsFor(record)) + BOUND_SLACK_MS;
    if (!hasExited && nowMs() <= boundMs) return;
    seen.isBoundJudged = true;
    const isExcused = (["memory", "runtime"] as const).some((kind) =>
      faults.concerned(kind, termination.sinceMs, uidOf(record)),
    );
    if (this.judgements.applies("grace bound", isExcused) && !hasExited)
      violation(`[4] ${nameOf(record)} of ${this.#podName(record)} runs ${nowMs() - fromMs} ms after its grace ended`);
  }

  /** When the running agent could resume terminations; undefined: it cannot yet. */
  #resumedMs(): number | undefined {
    const { node } = this.#sight;
    return this.#firstWatch?.life === node.lives ? this.#firstWatch.atMs + RESUME_MS : undefined;
  }

  /** How many stops precede this container's: a sidecar waits for the main containers and for the sidecars after it. */
  #waitsFor(record: ContainerRecord): number {
    const sidecars = initContainers(this.#sight.podOf(uidOf(record))?.spec).filter(({ role }) => role === "sidecar");
    const place = sidecars.findIndex(({ container }) => container.name === nameOf(record));
    return place === -1 ? 0 : sidecars.length - place;
  }

  /** [4] A preStop hook runs once, and before its container is stopped. */
  #checkCommands(record: ContainerRecord, seen: Seen): void {
    const { node, podOf, violation } = this.#sight;
    const lifecycle = lifecycleOf(podOf(uidOf(record))?.spec, nameOf(record));
    const [postStart, preStop] = [keyOf(lifecycle?.postStart), keyOf(lifecycle?.preStop)];
    for (const run of record.commands.slice(seen.commands)) {
      if ([postStart, preStop].includes(runKey(run))) this.#hookBegan(run);
      if (runKey(run) === postStart) this.note("a postStart hook ran");
      if (preStop === undefined || runKey(run) !== preStop) continue;
      this.note("a preStop hook ran");
      const what = `${nameOf(record)} of ${this.#podName(record)}: its preStop hook`;
      const isOfEnd = this.#terminates(uidOf(record));
      // A hook that ran before a restart and that the pod's termination interrupted runs again.
      const isCut = (hook: Hook) => isOfEnd && !hook.isOfEnd && hook.run.ended?.exitCode === KILLED;
      const isExcused = this.#sight.faults.concerned("memory", seen.startedMs, uidOf(record));
      if (this.judgements.applies("preStop once", isExcused)) {
        const isDone = this.#sight.journaled.preStopDone.has(record.id);
        if (isDone || seen.preStops.some((hook) => hook.life === node.lives && !isCut(hook)))
          violation(`[4] ${what} ran twice`);
        if (seen.stops > 0) violation(`[4] ${what} ran after its container was stopped`);
      }
      seen.preStops.push({ run, life: node.lives, runtimeDeaths: node.runtime.deaths, isOfEnd });
    }
    seen.commands = record.commands.length;
  }

  #hookBegan(run: CommandRun): void {
    this.#hooks.add(run);
    const act = this.atNextHook;
    this.atNextHook = () => {};
    act();
  }

  #checkStops(record: ContainerRecord, seen: Seen): void {
    const nowMs = this.#sight.nowMs();
    const pod = this.#sight.podOf(uidOf(record));
    const mayResize = this.#sight.resizes().mayStop(record);
    for (const graceSeconds of record.stops.slice(seen.stops)) {
      const isKnown = pod !== undefined && !this.#sight.isForced(uidOf(record)) && !this.#sight.hasEnded(uidOf(record));
      if (isKnown && record.state !== "unknown" && !this.#isLate(record)) {
        if (!mayResize) this.#checkReason(record, pod);
        // No grace period applies to a container whose exit the runtime missed.
        const isSeen = record.overlooked !== true;
        if (isSeen && pod.metadata?.deletionTimestamp !== undefined) this.#checkGrace(record, seen, graceSeconds);
        if (graceSeconds > LEAST_SECONDS) this.#checkTurn(record, pod, seen);
        else if (isUnderWay(seen.preStops.at(-1))) this.note("a hook used up the grace period of its container");
      }
      const endsMs = nowMs + graceSeconds * 1_000;
      this.#checkOnce(record, seen, endsMs);
      seen.endsMs = Math.min(endsMs, seen.endsMs ?? endsMs);
      if (pod?.metadata?.deletionTimestamp !== undefined) seen.podEndsMs = Math.min(endsMs, seen.podEndsMs ?? endsMs);
    }
    seen.stops = record.stops.length;
  }

  /** [4] While the runtime answers, a container gets one StopContainer call per deadline of its grace period. */
  #checkOnce(record: ContainerRecord, seen: Seen, endsMs: number): void {
    const { node, nowMs, journaled, faults, violation } = this.#sight;
    const { lastStop } = seen;
    const { termination } = journaled.of(uidOf(record));
    const isOfEnd = termination !== undefined;
    const graceEndsMs = termination?.endsMs ?? Number.POSITIVE_INFINITY;
    const { lives: life } = node;
    seen.lastStop = { atMs: nowMs(), endsMs, life, runtimeDeaths: node.runtime.deaths, isOfEnd, graceEndsMs };
    if (lastStop?.life !== node.lives || lastStop.runtimeDeaths !== node.runtime.deaths) return;
    // An eviction may shorten the rest of a grace period, even to less than the least one that a stop can have.
    if (graceEndsMs < lastStop.graceEndsMs) return;
    if (lastStop.isOfEnd !== isOfEnd || nowMs() >= lastStop.endsMs || endsMs < lastStop.endsMs - SLACK_MS) return;
    if (!faults.concerned("runtime", lastStop.atMs, uidOf(record)))
      violation(`[4] ${nameOf(record)} of ${this.#podName(record)} was stopped twice with the same grace`);
  }

  /** [4] The grace period only shrinks, and it is granted. */
  #checkGrace(record: ContainerRecord, { endsMs, podEndsMs }: Seen, graceSeconds: number): void {
    const nowMs = this.#sight.nowMs();
    const what = `${nameOf(record)} of ${this.#podName(record)}`;
    const sinceMs = this.#sight.deletedAtMs(uidOf(record));
    if (!this.judgements.applies("grace", this.#sight.faults.concerned("memory", sinceMs, uidOf(record)))) return;
    const nextMs = nowMs + graceSeconds * 1_000;
    // The grace period of a restart is not that of the pod's termination.
    if (podEndsMs !== undefined && graceSeconds > LEAST_SECONDS && nextMs > podEndsMs + SLACK_MS)
      this.#sight.violation(`[4] ${what} was given ${nextMs - podEndsMs} ms more than before`);
    if (graceSeconds === 0 && (endsMs === undefined || endsMs > nowMs + SLACK_MS))
      this.#sight.violation(`[4] ${what} was killed before its grace was over`);
  }

  /**
   * [4] The preStop hook has run before the container is stopped. [3] Sidecars of a terminating pod are stopped last,
   * in reverse order.
   */
  #checkTurn(record: ContainerRecord, { metadata, spec }: Pod, { preStops }: Seen): void {
    const { node, violation, recordsOf } = this.#sight;
    const what = `${nameOf(record)} of ${metadata?.name}`;
    const preStop = lifecycleOf(spec, nameOf(record))?.preStop;
    const last = preStops.at(-1);
    const isOfNow = last?.life === node.lives && last.runtimeDeaths === node.runtime.deaths;
    if (isOfNow && isUnderWay(last)) violation(`[4] ${what} was stopped while its hook was running`);
    // Without a ready sandbox an HTTP hook has no address.
    const isReachable =
      preStop?.httpGet === undefined || node.runtime.sandboxes.get(record.sandboxId)?.state === "ready";
    if (keyOf(preStop) !== undefined && isReachable && last === undefined && !this.#mayLackHook(record))
      violation(`[4] ${what} was stopped without its hook`);
    if (metadata?.deletionTimestamp === undefined) return;
    const sidecars = initContainers(spec).filter(({ role }) => role === "sidecar");
    const place = sidecars.findIndex(({ container }) => container.name === nameOf(record));
    const own = sidecars[place];
    if (own === undefined || hasProbe(own.container, "liveness") || hasProbe(own.container, "startup")) return;
    const later = new Set(sidecars.slice(place + 1).map(({ container }) => container.name));
    for (const { name } of spec?.containers ?? []) later.add(name);
    const running = recordsOf(uidOf(record)).find(
      (other) =>
        other.sandboxId === record.sandboxId &&
        other.state === "running" &&
        later.has(nameOf(other)) &&
        !this.#isLate(other),
    );
    // A container that the runtime failed to stop blocks no other, as in the Go kubelet.
    const isExcused = this.#sight.faults.concerned("runtime", this.#sight.deletedAtMs(uidOf(record)), uidOf(record));
    if (running !== undefined && !isExcused) violation(`[3] ${what} was stopped before ${nameOf(running)}`);
    else if (running === undefined && later.size > 0)
      this.note("a sidecar terminated after the containers that it serves");
  }

  /**
   * [12] The agent does not stop a running, healthy container: not because an answer is missing, and not because it is
   * unready.
   */
  #checkReason(record: ContainerRecord, pod: Pod): void {
    const { node, pods, recordsOf, violation, wasEverUnwell, requestedForAllNs } = this.#sight;
    const { metadata, spec } = pod;
    // Whether the pod may be evicted is another rule.
    if (isEviction(this.#sight.journaled.of(metadata?.uid ?? "").termination)) return;
    const containerSpec = containerNamed(spec, nameOf(record));
    if (metadata?.deletionTimestamp !== undefined || containerSpec === undefined || containerSpec.role === "init")
      return;
    const sandboxes = [...node.runtime.sandboxes.values()].filter(
      ({ config, state }) => state === "ready" && config.metadata.uid === metadata?.uid,
    );
    if (sandboxes.length !== 1 || sandboxes[0]?.id !== record.sandboxId) return;
    const isMain = ({ state, config }: ContainerRecord) =>
      state === "running" && spec?.containers.some(({ name }) => name === config.metadata.name) === true;
    const records = recordsOf(uidOf(record));
    // Containers restarted from outside the agent may exceed the desired number.
    if (!records.some(isMain) || records.some(({ revived }) => revived === true)) return;
    if (spec?.activeDeadlineSeconds !== undefined || keyOf(containerSpec.container.lifecycle?.postStart) !== undefined)
      return;
    if (requestedForAllNs(pod) > (record.startedWallNs ?? 0n)) return;
    const isCritical = ({ spec: other }: Pod) => (other?.priority ?? 0) >= CRITICAL;
    if (!isCritical(pod) && pods().some(isCritical)) return;
    const isAsked = hasProbe(containerSpec.container, "liveness") || hasProbe(containerSpec.container, "startup");
    if (isAsked && wasEverUnwell(record.id)) return this.note("a probe terminated a container");
    const sinceMs = this.#sight.nowMs() - HEALTH_MS;
    if (!isAsked || !this.#sight.faults.concerned("commands", sinceMs, record.id))
      violation(`[12] ${nameOf(record)} of ${metadata?.name} was stopped for no reason`);
  }

  /** Whether its start was in progress when the pod's deletion began and the agent never learned that it runs. */
  #isLate(record: ContainerRecord): boolean {
    const startedMs = this.#seen.get(record.id)?.startedMs ?? 0;
    return startedMs >= this.#sight.deletedAtMs(uidOf(record)) && !this.#sight.wasAnswered(record.id);
  }

  /** Whether a fault may have kept a hook from this container, or from the record of its runs. */
  #mayLackHook(record: ContainerRecord): boolean {
    const sinceMs = this.#seen.get(record.id)?.startedMs ?? 0;
    const { faults } = this.#sight;
    return faults.concerned("commands", sinceMs, record.id) || faults.concerned("prober", sinceMs, uidOf(record));
  }

  /**
   * Whether the pod terminates, also without a deletionTimestamp: its object may be gone, or the pod may be preempted.
   */
  #terminates(uid: string): boolean {
    const { podOf, journaled } = this.#sight;
    return podOf(uid)?.metadata?.deletionTimestamp !== undefined || journaled.of(uid).termination !== undefined;
  }

  #podName(record: ContainerRecord): string {
    return this.#sight.podOf(uidOf(record))?.metadata?.name ?? uidOf(record);
  }
}

const nameOf = ({ config }: ContainerRecord): string => config.metadata.name;
const uidOf = ({ config }: ContainerRecord): string => config.labels?.["io.kubernetes.pod.uid"] ?? "";
const restartKey = (record: ContainerRecord): string => `${uidOf(record)}/${nameOf(record)}`;
const isLike = ({ config: a }: ContainerRecord, { config: b }: ContainerRecord): boolean =>
  isDeepStrictEqual(a.resources, b.resources);
const runKey = ({ argv }: CommandRun): string => argv.join("\0");
const lifecycleOf = (spec: Pod["spec"], name: string) => containerNamed(spec, name)?.container.lifecycle;
const isUnderWay = (hook: Seen["preStops"][number] | undefined): boolean =>
  hook !== undefined && hook.run.ended === undefined;

/** The key of a hook among the commands recorded in its container; undefined for hooks that leave no record there. */
function keyOf(handler: LifecycleHandler | undefined): string | undefined {
  if (handler?.exec !== undefined) return (handler.exec.command ?? []).join("\0");
  return handler?.httpGet === undefined ? undefined : ["GET", handler.httpGet.path ?? ""].join("\0");
}
