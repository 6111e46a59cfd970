/**
 * What must never happen in the life of a container, told from the runtime's truth alone: the order in which containers begin and end, what is done in
 * them at both times, how long they are given, who may be asked to end at all, and how soon they come again.
 */
import { isDeepStrictEqual } from "node:util";
import type { LifecycleHandler, Pod } from "../src/api/gen/core-v1.ts";
import { containerNamed, initContainers, type RoledContainer } from "../src/domain/pod/every-container.ts";
import { hasProbe } from "../src/domain/probes/probe-spec.ts";
import type { CommandRun, ContainerRecord } from "./fake-runtime/records.ts";
import type { FaultLog } from "./fault-log.ts";
import type { JournaledPods } from "./journaled-pods.ts";
import { Judgements } from "./judgements.ts";
import type { ResizeOracle } from "./resize-oracle.ts";
import type { SimNode } from "./sim-node.ts";

export interface LifecycleSight {
  readonly node: SimNode;
  readonly nowMs: () => number;
  readonly podOf: (uid: string) => Pod | undefined;
  readonly pods: () => readonly Pod[];
  /** It is gone, or its end was published. */
  readonly isOver: (uid: string) => boolean;
  readonly isForced: (uid: string) => boolean;
  /** When somebody asked for its end: for ever ahead where nobody has. */
  readonly deletedAtMs: (uid: string) => number;
  /** All that were started of a pod, in order. */
  readonly recordsOf: (uid: string) => readonly ContainerRecord[];
  readonly wasEverUnwell: (id: string) => boolean;
  /** When a container last ended so that, by its rules, all are to be run again; 0: never. */
  readonly askedForAllNs: (pod: Pod) => bigint;
  /** Which containers may be stopped to start again with other resources: that is no end of their own, and costs no back-off. */
  readonly resizes: () => Pick<ResizeOracle, "mayStop" | "wasStopped">;
  readonly faults: FaultLog;
  readonly journaled: JournaledPods;
  /** Whether the agent was told that this container runs. */
  readonly wasAnswered: (id: string) => boolean;
  /** Since when the agent's watch of its pods is open. */
  readonly watchedSinceMs: () => number | undefined;
  readonly violation: (text: string) => void;
}

interface Hook {
  readonly run: CommandRun;
  readonly life: number;
  readonly runtimeDeaths: number;
  /** Its pod was ending when it began. */
  readonly isOfEnd: boolean;
}

interface Seen {
  readonly startedMs: number;
  finishedMs: number | undefined;
  /** The agent's life in which it was found dead. */
  finishedInLife: number;
  commands: number;
  stops: number;
  /** Until when it may run at the most, once it was asked to end. */
  endsMs: number | undefined;
  /** The same, of what was said since its pod ends. */
  podEndsMs: number | undefined;
  lastStop: Stop | undefined;
  /** Whether the upper bound of its grace was judged. */
  isBoundJudged: boolean;
  /** The runs of its hook before its end, and who ran them. */
  readonly preStops: Hook[];
}

/** One StopContainer, of one life of the agent and of the runtime. */
interface Stop {
  readonly atMs: number;
  readonly endsMs: number;
  readonly life: number;
  readonly runtimeDeaths: number;
  readonly isOfEnd: boolean;
}

/** What the runtime gives at the least: then time was up. */
const LEAST_SECONDS = 2;
const SLACK_MS = 1_500;
/** Beyond its grace a container runs no longer than this. */
const BOUND_SLACK_MS = 2_000;
/** What an agent takes to go on with a termination, once it has its pods. */
const RESUME_MS = 2_000;
const FIRST_BACKOFF_MS = 10_000;
const BACKOFF_MS_MAX = 300_000;
/** So long before a container runs the agent decides, at the earliest, how long its next restart waits: create and start take time. */
const DECIDED_MS = 12_000;
/** Who ran for about this long may start afresh. */
const LONG_RUN_MS = 590_000;
const CRITICAL = 2_000_000_000;
const KILLED = 137;
/** A probe that failed longer ago ends no container any more. */
const HEALTH_MS = 60_000;

export class LifecycleOracle {
  /** Told of what did happen. */
  note: (what: string) => void = () => {};
  /** Done once, when a hook is next seen to have begun. */
  atNextHook: () => void = () => {};
  readonly judgements = new Judgements();
  readonly #sight: LifecycleSight;
  readonly #seen = new Map<string, Seen>();
  /** Hooks under way. */
  readonly #hooks = new Set<CommandRun>();
  /** Restarts in a row, by UID and name. */
  readonly #restarts = new Map<string, number>();
  /** When a life of the agent first watched its pods. */
  #firstWatch: { readonly life: number; readonly atMs: number } | undefined;

  constructor(sight: LifecycleSight) {
    this.#sight = sight;
  }

  /** Of each container, before the pods it belongs to are looked at: a new start is looked at when it is first seen. */
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

  /** Whether hooks were under way when it was last looked: of an agent that has just died nothing is. */
  get hooksUnderWay(): boolean {
    return this.#hooks.size > 0;
  }

  started(record: ContainerRecord, pod: Pod | undefined, before: readonly ContainerRecord[]): void {
    const roled = containerNamed(pod?.spec, nameOf(record));
    const earlier = before.filter((other) => nameOf(other) === nameOf(record));
    const last = earlier.at(-1);
    for (const other of earlier) this.#noteEnd(other, this.#seen.get(other.id));
    if (pod !== undefined && roled !== undefined) {
      this.#checkSetUp(record, roled, pod, before);
      this.#checkPostStarts(record, pod, before);
      if (last !== undefined && !this.#isResized(record, last)) this.#checkBackoff(record, last);
      this.#noteStart(roled, pod, last);
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

  #noteStart({ role, container }: RoledContainer, { spec }: Pod, last: ContainerRecord | undefined): void {
    if (role === "ephemeral") this.note("somebody looked in");
    if (last === undefined) return;
    if (role === "init" && last.exitCode !== 0) this.note("an init container ran again after it had failed");
    if (role === "sidecar") this.note("a sidecar ran again");
    const hasRules = "restartPolicyRules" in container && container.restartPolicyRules !== undefined;
    if (role === "regular" && hasRules && spec?.restartPolicy === "Never")
      this.note("a rule let a container run again");
  }

  /** [3] Each that sets up has ended well, each sidecar has started, before the next begins, and none comes when the main ones are there. */
  #checkSetUp(
    { sandboxId }: ContainerRecord,
    { role, container }: RoledContainer,
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

  /** [3] What is to be done upon a start is done before the next one starts. */
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

  /** Its end was for the sake of other resources: it is no end of its own. */
  #isResized(record: ContainerRecord, last: ContainerRecord): boolean {
    if (!this.#sight.resizes().wasStopped(last.id)) return false;
    if (isLike(record, last)) return true;
    this.note("a container took other resources by a restart");
    this.#restarts.set(restartKey(record), 0);
    return true;
  }

  /** [2] Who ends again and again waits longer and longer, whoever counts; with other resources it starts afresh. */
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
    // What the agent still knows of earlier restarts cannot be told.
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
   * [4] A container runs no longer than the grace of its termination. Where a hook used that up, and for each sidecar that waits for others, the
   * runtime still gives the least it gives. An agent that died goes on when it is back and has its pods.
   */
  #checkBound(record: ContainerRecord, seen: Seen): void {
    const { node, nowMs, journaled, faults, violation } = this.#sight;
    const { termination } = journaled.of(uidOf(record));
    if (termination === undefined || seen.isBoundJudged) return;
    const resumedMs = termination.life === node.lives ? termination.sinceMs : this.#resumedMs();
    const isOver = seen.finishedMs !== undefined;
    if (
      !isOver &&
      (!node.isRunning || resumedMs === undefined || record.state !== "running" || record.overlooked === true)
    )
      return;
    const fromMs = Math.max(termination.endsMs, resumedMs ?? 0, seen.startedMs);
    const boundMs = fromMs + LEAST_SECONDS * 1_000 * (1 + this.#waitsFor(record)) + BOUND_SLACK_MS;
    if (!isOver && nowMs() <= boundMs) return;
    seen.isBoundJudged = true;
    const isExcused = (["memory", "runtime"] as const).some((kind) =>
      faults.concerned(kind, termination.sinceMs, uidOf(record)),
    );
    if (this.judgements.applies("grace bound", isExcused) && !isOver)
      violation(`[4] ${nameOf(record)} of ${this.#podName(record)} runs ${nowMs() - fromMs} ms after its grace ended`);
  }

  /** When the agent that runs had what it needs to go on; undefined: it does not have it. */
  #resumedMs(): number | undefined {
    const { node } = this.#sight;
    return this.#firstWatch?.life === node.lives ? this.#firstWatch.atMs + RESUME_MS : undefined;
  }

  /** How many stops come before this one's: a sidecar waits for those that started after it. */
  #waitsFor(record: ContainerRecord): number {
    const sidecars = initContainers(this.#sight.podOf(uidOf(record))?.spec).filter(({ role }) => role === "sidecar");
    const place = sidecars.findIndex(({ container }) => container.name === nameOf(record));
    return place === -1 ? 0 : sidecars.length - place;
  }

  /** [4] What is done before a container's end is done once, and before it is asked to end. */
  #checkCommands(record: ContainerRecord, seen: Seen): void {
    const { node, podOf, violation } = this.#sight;
    const lifecycle = lifecycleOf(podOf(uidOf(record))?.spec, nameOf(record));
    const [postStart, preStop] = [keyOf(lifecycle?.postStart), keyOf(lifecycle?.preStop)];
    for (const run of record.commands.slice(seen.commands)) {
      if ([postStart, preStop].includes(runKey(run))) this.#hookBegan(run);
      if (runKey(run) === postStart) this.note("a hook was run upon a start");
      if (preStop === undefined || runKey(run) !== preStop) continue;
      this.note("a hook was run before an end");
      const what = `${nameOf(record)} of ${this.#podName(record)}: its hook before its end`;
      const isOfEnd = this.#terminates(uidOf(record));
      // One that a restart was to follow, and that the pod's end cut short, is run again.
      const isCut = (hook: Hook) => isOfEnd && !hook.isOfEnd && hook.run.ended?.exitCode === KILLED;
      const isExcused = this.#sight.faults.concerned("memory", seen.startedMs, uidOf(record));
      if (this.judgements.applies("preStop once", isExcused)) {
        const isDone = this.#sight.journaled.preStopDone.has(record.id);
        if (isDone || seen.preStops.some((hook) => hook.life === node.lives && !isCut(hook)))
          violation(`[4] ${what} was run twice`);
        if (seen.stops > 0) violation(`[4] ${what} was run after it was asked to end`);
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
      const isKnown = pod !== undefined && !this.#sight.isForced(uidOf(record)) && !this.#sight.isOver(uidOf(record));
      if (isKnown && record.state !== "unknown" && !this.#isLate(record)) {
        if (!mayResize) this.#checkReason(record, pod);
        // A runtime that has lost sight of one keeps to no grace.
        const isSeen = record.overlooked !== true;
        if (isSeen && pod.metadata?.deletionTimestamp !== undefined) this.#checkGrace(record, seen, graceSeconds);
        if (graceSeconds > LEAST_SECONDS) this.#checkTurn(record, pod, seen);
        else if (seen.preStops.at(-1)?.run.ended?.exitCode === KILLED)
          this.note("a hook used up the grace of its container");
      }
      const endsMs = nowMs + graceSeconds * 1_000;
      this.#checkOnce(record, seen, endsMs);
      seen.endsMs = Math.min(endsMs, seen.endsMs ?? endsMs);
      if (pod?.metadata?.deletionTimestamp !== undefined) seen.podEndsMs = Math.min(endsMs, seen.podEndsMs ?? endsMs);
    }
    seen.stops = record.stops.length;
  }

  /** [4] While the runtime answers, a container is asked to end once for each end that its grace has. */
  #checkOnce(record: ContainerRecord, seen: Seen, endsMs: number): void {
    const { node, nowMs, journaled, faults, violation } = this.#sight;
    const { lastStop } = seen;
    const isOfEnd = journaled.of(uidOf(record)).termination !== undefined;
    seen.lastStop = { atMs: nowMs(), endsMs, life: node.lives, runtimeDeaths: node.runtime.deaths, isOfEnd };
    if (lastStop?.life !== node.lives || lastStop.runtimeDeaths !== node.runtime.deaths) return;
    if (lastStop.isOfEnd !== isOfEnd || nowMs() >= lastStop.endsMs || endsMs < lastStop.endsMs - SLACK_MS) return;
    if (!faults.concerned("runtime", lastStop.atMs, uidOf(record)))
      violation(`[4] ${nameOf(record)} of ${this.#podName(record)} was asked to end twice with the same grace`);
  }

  /** [4] Grace only shrinks, and is given. */
  #checkGrace(record: ContainerRecord, { endsMs, podEndsMs }: Seen, graceSeconds: number): void {
    const nowMs = this.#sight.nowMs();
    const what = `${nameOf(record)} of ${this.#podName(record)}`;
    const sinceMs = this.#sight.deletedAtMs(uidOf(record));
    if (!this.judgements.applies("grace", this.#sight.faults.concerned("memory", sinceMs, uidOf(record)))) return;
    const nextMs = nowMs + graceSeconds * 1_000;
    // The grace of a restart is not that of its pod's end.
    if (podEndsMs !== undefined && graceSeconds > LEAST_SECONDS && nextMs > podEndsMs + SLACK_MS)
      this.#sight.violation(`[4] ${what} was given ${nextMs - podEndsMs} ms more than before`);
    if (graceSeconds === 0 && (endsMs === undefined || endsMs > nowMs + SLACK_MS))
      this.#sight.violation(`[4] ${what} was killed before its grace was over`);
  }

  /** [4] Its hook has been run before it is asked to end, [3] and of a pod that ends sidecars go last, the later ones first. */
  #checkTurn(record: ContainerRecord, { metadata, spec }: Pod, { preStops }: Seen): void {
    const { node, violation, recordsOf } = this.#sight;
    const what = `${nameOf(record)} of ${metadata?.name}`;
    const preStop = lifecycleOf(spec, nameOf(record))?.preStop;
    const last = preStops.at(-1);
    const isOfNow = last?.life === node.lives && last.runtimeDeaths === node.runtime.deaths;
    if (isOfNow && isUnderWay(last)) violation(`[4] ${what} was asked to end while its hook was run`);
    // Whose sandbox has died has no address to which an HTTP hook could go.
    const isReachable =
      preStop?.httpGet === undefined || node.runtime.sandboxes.get(record.sandboxId)?.state === "ready";
    if (keyOf(preStop) !== undefined && isReachable && last === undefined && !this.#mayLackHook(record))
      violation(`[4] ${what} was asked to end without its hook`);
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
    // One that the runtime failed to stop holds up no other, as with the Go kubelet.
    const isExcused = this.#sight.faults.concerned("runtime", this.#sight.deletedAtMs(uidOf(record)), uidOf(record));
    if (running !== undefined && !isExcused) violation(`[3] ${what} was asked to end before ${nameOf(running)}`);
    else if (running === undefined && later.size > 0) this.note("a sidecar ended after those that it serves");
  }

  /** [12] Nobody asks a container to end that runs and is well: not for want of an answer, and not for being unready. */
  #checkReason(record: ContainerRecord, pod: Pod): void {
    const { node, pods, recordsOf, violation, wasEverUnwell, askedForAllNs } = this.#sight;
    const { metadata, spec } = pod;
    const roled = containerNamed(spec, nameOf(record));
    if (metadata?.deletionTimestamp !== undefined || roled === undefined || roled.role === "init") return;
    const sandboxes = [...node.runtime.sandboxes.values()].filter(
      ({ config, state }) => state === "ready" && config.metadata.uid === metadata?.uid,
    );
    if (sandboxes.length !== 1 || sandboxes[0]?.id !== record.sandboxId) return;
    const isMain = ({ state, config }: ContainerRecord) =>
      state === "running" && spec?.containers.some(({ name }) => name === config.metadata.name) === true;
    const records = recordsOf(uidOf(record));
    // Where somebody else starts containers too, there are more than there should be.
    if (!records.some(isMain) || records.some(({ revived }) => revived === true)) return;
    if (spec?.activeDeadlineSeconds !== undefined || keyOf(roled.container.lifecycle?.postStart) !== undefined) return;
    if (askedForAllNs(pod) > (record.startedWallNs ?? 0n)) return;
    const isCritical = ({ spec: other }: Pod) => (other?.priority ?? 0) >= CRITICAL;
    if (!isCritical(pod) && pods().some(isCritical)) return;
    const isAsked = hasProbe(roled.container, "liveness") || hasProbe(roled.container, "startup");
    if (isAsked && wasEverUnwell(record.id)) return this.note("a probe ended a container");
    const sinceMs = this.#sight.nowMs() - HEALTH_MS;
    if (!isAsked || !this.#sight.faults.concerned("commands", sinceMs, record.id))
      violation(`[12] ${nameOf(record)} of ${metadata?.name} was asked to end for no reason`);
  }

  /** Its start was under way when its pod's end began, and the agent was never told that it runs. */
  #isLate(record: ContainerRecord): boolean {
    const startedMs = this.#seen.get(record.id)?.startedMs ?? 0;
    return startedMs >= this.#sight.deletedAtMs(uidOf(record)) && !this.#sight.wasAnswered(record.id);
  }

  /** A hook of this container may never have reached it, or is not known to have. */
  #mayLackHook(record: ContainerRecord): boolean {
    const sinceMs = this.#seen.get(record.id)?.startedMs ?? 0;
    const { faults } = this.#sight;
    return faults.concerned("commands", sinceMs, record.id) || faults.concerned("prober", sinceMs, uidOf(record));
  }

  /** Also where no deletion says so: its object may be gone, or another pod may need its place. */
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

/** How a hook that is seen in its container is known there. */
function keyOf(handler: LifecycleHandler | undefined): string | undefined {
  if (handler?.exec !== undefined) return (handler.exec.command ?? []).join("\0");
  return handler?.httpGet === undefined ? undefined : ["GET", handler.httpGet.path ?? ""].join("\0");
}
