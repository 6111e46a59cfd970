/**
 * Stops containers: runs the preStop hook, waits for the containers that must stop earlier, and stops the container,
 * all within one grace period. A hook that takes longer than the grace period continues while its container is being
 * stopped, and ends with it. A hook that finishes earlier is journaled before its container is stopped, so that the
 * next kubelet process does not run it again.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import { linkSignals, raceAbort } from "../../concurrency/abort.ts";
import { DeadlineError, withDeadline } from "../../concurrency/deadline.ts";
import { settleAll } from "../../concurrency/settle-all.ts";
import { decisionRecord } from "../../domain/journal/records.ts";
import type { ContainerStop } from "../../domain/pod/container-stops.ts";
import { type ContainerSpec, containerNamed } from "../../domain/pod/containers.ts";
import { containerGraceSeconds, effectiveGraceSeconds, probeGraceSeconds } from "../../domain/pod/grace.ts";
import { preStopOf } from "../../domain/pod/hooks.ts";
import { type PodName, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { KILLED_EXIT_CODE, restartsAfter } from "../../domain/pod/restart-policy.ts";
import { podNameOf } from "../../domain/pod/runtime-view.ts";
import { containerEventEmitter } from "./event-emitter.ts";
import { hookRun, noteHook, runHook } from "./hooks.ts";
import type { PodState } from "./pod-state.ts";
import { KillError } from "./turn-failure.ts";
import type { PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";

export interface Stopping {
  readonly state: PodState;
  readonly pod: Pod | undefined;
  readonly ports: PodWorkerPorts;
  readonly settings: Pick<PodWorkerSettings, "hookUserAgent">;
  /** The remaining grace period of all containers; undefined: each gets its pod's grace period from now. */
  readonly graceMs: number | undefined;
  /** Called when the first hook begins and when the last one has ended. */
  readonly onHooks?: (areUnderWay: boolean) => void;
}

/** Each container is stopped regardless of errors with the others. */
export async function stopContainers(
  stops: readonly ContainerStop[],
  stopping: Stopping,
  signal: AbortSignal,
): Promise<void> {
  const hooked = new Set(stops.filter((stop) => isHookDue(stop, stopping)).map(({ id }) => id));
  if (hooked.size > 0) stopping.onHooks?.(true);
  const onHookEnd = (id: string) => {
    if (hooked.delete(id) && hooked.size === 0) stopping.onHooks?.(false);
  };
  const ends = new Map(stops.map(({ id }) => [id, Promise.withResolvers<void>()]));
  await settleAll(
    stops.map(async (stop) => {
      const before = (stop.after ?? []).flatMap((id) => ends.get(id)?.promise ?? []);
      try {
        await stopContainer(stop, Promise.all(before), onHookEnd, stopping, signal);
      } finally {
        ends.get(stop.id)?.resolve();
      }
    }),
  );
}

async function stopContainer(
  stop: ContainerStop,
  turn: Promise<unknown>,
  onHookEnd: (id: string) => void,
  stopping: Stopping,
  signal: AbortSignal,
): Promise<void> {
  const { clock, runtime } = stopping.ports;
  const endsMs = clock.monotonicMs() + graceMs(stop, stopping);
  emitStop(stop, stopping);
  const hook = beginPreStop(stop, endsMs, stopping, signal);
  try {
    await whileGraceLasts(endsMs, stopping, signal, (limited) => raceAbort(hook.ended, limited));
    onHookEnd(stop.id);
    await whileGraceLasts(endsMs, stopping, signal, (limited) => raceAbort(turn, limited));
    await runtime.stopContainer(stop.id, containerGraceSeconds(endsMs - clock.monotonicMs()), signal).catch((error) => {
      throw new KillError(stop.name, error);
    });
  } finally {
    await hook.cancel();
  }
}

interface HookUnderWay {
  readonly ended: Promise<void>;
  /** Ends the hook if it still runs. Rejects if the hook's end could not be journaled. */
  cancel(): Promise<void>;
}

/** No hook runs when no time is left. */
function beginPreStop(stop: ContainerStop, endsMs: number, stopping: Stopping, signal: AbortSignal): HookUnderWay {
  if (stopping.ports.clock.monotonicMs() >= endsMs)
    return { ended: Promise.resolve(), cancel: () => Promise.resolve() };
  const life = linkSignals(signal);
  const cancelled = new Error("the container of the hook was stopped");
  const ended = preStop(stop, stopping, life.signal);
  const cancel = async () => {
    life.abort(cancelled);
    life[Symbol.dispose]();
    try {
      await ended;
    } catch (error) {
      if (error !== cancelled) throw error;
      // An exec hook ends with its container, which is a failure; a hook that only waits simply ends.
      if (preStopOf(stopping.pod, stopping.state.view, stop)?.exec !== undefined) emitHookFailure(stop, stopping);
    }
  };
  return { ended, cancel };
}

function graceMs({ name, reason }: ContainerStop, { graceMs: left, pod }: Stopping): number {
  if (left !== undefined) return left;
  if (reason.kind === "restartingAll") return 0;
  if (pod === undefined) return 0;
  const own = reason.kind === "probeFailed" ? probeGraceSeconds(pod, name, reason.probe) : undefined;
  return (own ?? effectiveGraceSeconds(pod, undefined, undefined)) * 1000;
}

/** Waits for `run` until the time is up; the container is stopped anyway. */
async function whileGraceLasts(
  endsMs: number,
  { ports: { clock } }: Stopping,
  signal: AbortSignal,
  run: (limited: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const leftMs = endsMs - clock.monotonicMs();
  if (leftMs <= 0) return;
  try {
    await withDeadline(clock, leftMs, signal, run);
  } catch (error) {
    if (!(error instanceof DeadlineError) || signal.aborted) throw error;
  }
}

const isHookDue = (stop: ContainerStop, { state, pod }: Stopping): boolean =>
  preStopOf(pod, state.view, stop) !== undefined && !state.termination.preStopDone.has(stop.id);

async function preStop(stop: ContainerStop, stopping: Stopping, signal: AbortSignal): Promise<void> {
  const { state, pod, ports } = stopping;
  const handler = preStopOf(pod, state.view, stop);
  const name = nameOf(state, pod);
  if (handler === undefined || name === undefined || state.termination.preStopDone.has(stop.id)) return;
  const run = hookRun({ pod: name, container: stop.name, id: stop.id, handler }, stopping);
  const common = { uid: name.uid, pod: `${name.namespace}/${name.name}`, wallMs: ports.clock.wallMs() };
  ports.journal.note(decisionRecord(common, { kind: "runPreStop", container: stop.name }));
  const failure = await runHook(run, ports, signal);
  if (failure !== undefined) {
    ports.log.info(1, "A preStop hook failed", { ...name, why: failure });
    emitHookFailure(stop, { pod, ports });
  }
  await noteHook({ container: stop.name, containerId: stop.id, hook: "preStopDone" }, state, ports);
  state.termination.preStopDone.add(stop.id);
}

function emitHookFailure({ name }: ContainerStop, { pod, ports }: Pick<Stopping, "pod" | "ports">): void {
  const containerSpec = containerNamed(pod?.spec, name);
  if (pod === undefined || containerSpec === undefined) return;
  containerEventEmitter(pod, containerSpec, ports)("Warning", "FailedPreStopHook", "PreStopHook failed");
}

/** From the pod's object, or from the runtime if no source has the pod any more. */
function nameOf({ uid, view }: PodState, pod: Pod | undefined): PodName | undefined {
  if (pod !== undefined) return podNameOfObject(pod);
  const name = view === undefined ? undefined : podNameOf(view);
  return name === undefined ? undefined : { ...name, uid };
}

/**
 * Emits one event per reason, however often the stop is retried: a stuck termination must not use up the pod's event
 * quota.
 */
function emitStop(stop: ContainerStop, { pod, state, ports }: Stopping): void {
  const containerSpec = containerNamed(pod?.spec, stop.name);
  if (pod === undefined || containerSpec === undefined) return;
  const text = stopText(stop, containerSpec, pod);
  if (state.termination.reportedStops.get(stop.id) === text) return;
  state.termination.reportedStops.set(stop.id, text);
  containerEventEmitter(pod, containerSpec, ports)("Normal", "Killing", text);
}

function stopText({ name, reason }: ContainerStop, { role, container }: ContainerSpec, pod: Pod): string {
  const isInit = role === "sidecar";
  switch (reason.kind) {
    case "definitionChanged":
      return isInit
        ? `Init container ${name} definition changed`
        : `Container ${name} definition changed, will be restarted`;
    case "probeFailed": {
      if (isInit) return `Init container ${name} failed ${reason.probe} probe`;
      const isLast = !restartsAfter(pod, container, KILLED_EXIT_CODE);
      return `Container ${name} failed ${reason.probe} probe${isLast ? "" : ", will be restarted"}`;
    }
    case "resized":
      return `Container ${name} resize requires restart`;
    case "postStartFailed":
      return "FailedPostStartHook";
    case "restartingAll":
      return "killing";
    case "podEnds":
    case "sandboxChanged":
    case "cgroupMissing":
    case "superseded":
    case "stateUnknown":
      return `Stopping container ${name}`;
    default:
      return assertNever(reason);
  }
}
