/**
 * Actuates the allocation of a running pod: memory, then CPU, each in the order that keeps containers within the pod's
 * cgroup limits. Each completed step is recorded; the next plan finds the missing ones. The completion of a resize is
 * journaled before it is reported.
 */
import type { Pod, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import type { ContainerStop } from "../../domain/pod/container-stops.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import {
  type Actuated,
  actuatedAtStart,
  type ContainerResize,
  effective,
  type ResizeAction,
} from "../../domain/resize/actuation.ts";
import { allocated, allocationOf, type ResourceAllocation } from "../../domain/resize/allocation.ts";
import { asRead, cpuSteps, type GroupSteps, memorySteps, sandboxShare } from "../../domain/resize/group-steps.ts";
import { whyNotBelowUsage } from "../../domain/resize/memory-usage.ts";
import { generationOf } from "../../domain/resize/pod-resize.ts";
import { completedText, errorTextOf } from "../../domain/resize/texts.ts";
import type { CgroupName, CgroupValues } from "../../domain/resources/cgroup-values.ts";
import { isRuntimeError, RuntimeError, rpcText } from "../../ports/runtime-error.ts";
import { podEventEmitter } from "./event-emitter.ts";
import { nameInJournal, type PodState } from "./pod-state.ts";
import type { PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";

export interface Resizing {
  readonly state: PodState;
  readonly pod: Pod;
  readonly allocation: PodAllocation;
  readonly sandboxId: string;
  readonly ports: PodWorkerPorts;
  readonly settings: Pick<PodWorkerSettings, "resources">;
}

/**
 * Rejects if a step fails, after reporting the error in the pod's status and an event; the other actions of the plan
 * continue.
 */
export async function resizePod(action: ResizeAction, resizing: Resizing, signal: AbortSignal): Promise<void> {
  const { state, pod, ports } = resizing;
  const sinceMs = ports.clock.monotonicMs();
  const measure = (success: boolean) =>
    ports.resizeMetrics?.duration.observe(ports.clock.monotonicMs() - sinceMs, String(success));
  try {
    await refuseBelowUsage(action, resizing, signal);
    const group = new PodGroup(resizing);
    await group.around("memory", action.memory, memorySteps, signal);
    await group.around("cpu", action.cpu, cpuSteps, signal);
    state.resize.actuated = { ...state.resize.actuated, pod: effective(allocationOf(pod)), isPodUnsure: false };
    measure(true);
  } catch (error) {
    signal.throwIfAborted();
    measure(false);
    state.resize.actuated = { ...state.resize.actuated, isPodUnsure: state.resize.actuated.pod !== undefined };
    noteError(rpcText(error), resizing);
    throw error;
  }
}

/** The pod's cgroup during its transition from the old to the new values. */
class PodGroup {
  readonly #resizing: Resizing;
  readonly #name: CgroupName;
  readonly #next: CgroupValues;
  readonly #before: CgroupValues;
  #now: CgroupValues;

  constructor(resizing: Resizing) {
    const { state, pod, allocation, settings, ports } = resizing;
    const { actuated } = state.resize;
    const before = { ...allocation, resources: actuated.pod ?? allocation.resources };
    this.#resizing = resizing;
    this.#name = settings.resources.podCgroupName(pod);
    this.#next = settings.resources.podCgroupValues(pod, allocation);
    // If the current cgroup values are unknown, all values are set.
    this.#before = actuated.isPodUnsure ? {} : settings.resources.podCgroupValues(pod, before);
    this.#now = asRead(this.#before, ports.cgroups);
  }

  async around(
    resource: string,
    updates: readonly ContainerResize[],
    steps: (now: CgroupValues, next: CgroupValues) => GroupSteps,
    signal: AbortSignal,
  ): Promise<void> {
    const { before, after } = steps(this.#before, this.#next);
    for (const values of before) await this.#hold(resource, values, signal);
    for (const update of updates) await updateContainer(resource, update, this.#resizing, signal);
    for (const values of after) await this.#hold(resource, values, signal);
  }

  /** Notifies the runtime first: it may reject the resize. */
  async #hold(resource: string, values: CgroupValues, signal: AbortSignal): Promise<void> {
    const merged = { ...this.#now, ...values };
    try {
      await this.#updateSandbox(merged, signal);
    } catch (error) {
      const what = `failed to notify runtime for UpdatePodSandboxResources (resource=${resource}); resize rejected`;
      throw new Error(`${what}: ${errorText(error)}`, { cause: error });
    }
    try {
      await this.#resizing.ports.cgroups.apply(this.#name, values);
    } catch (error) {
      await this.#updateSandbox(this.#now, signal).catch((second: unknown) =>
        this.#resizing.ports.log.error("Failed to report a failed resize to the runtime", second),
      );
      throw error;
    }
    this.#now = merged;
  }

  async #updateSandbox(values: CgroupValues, signal: AbortSignal): Promise<void> {
    const { pod, allocation, sandboxId, ports, settings } = this.#resizing;
    const { overhead } = settings.resources.sandboxResources(pod, allocation);
    const reported = { resources: sandboxShare(pod, values), overhead };
    try {
      await ports.runtime.updateSandboxResources(sandboxId, reported, signal);
    } catch (error) {
      if (isNotOffered(error)) return;
      throw new Error(`updatePodSandboxResources failed for sanboxID "${sandboxId}": ${rpcText(error)}`, {
        cause: error,
      });
    }
  }
}

/** Older runtimes do not implement the call; containerd 2.2 reports that only in the message. */
const isNotOffered = (error: unknown): boolean =>
  isRuntimeError(error, "unimplemented") ||
  (error instanceof RuntimeError && error.code === "unknown" && error.detail.includes("not implemented"));

async function updateContainer(
  resource: string,
  { name, id, reported }: ContainerResize,
  { state, pod, allocation, ports, settings }: Resizing,
  signal: AbortSignal,
): Promise<void> {
  const asReported = { ...allocation, resources: { ...allocation.resources, containers: { [name]: reported } } };
  const resources = settings.resources.containerResources(pod, asReported, name);
  // Until the runtime has responded, the resource may be updated or not: it counts as unknown and is sent again.
  noteActuated(state, name, {
    requests: without(reported.requests, resource),
    limits: without(reported.limits, resource),
  });
  await ports.runtime.updateContainerResources(id, resources, {}, signal);
  noteActuated(state, name, reported);
}

const without = (list: ResourceRequirements["limits"] = {}, resource: string) =>
  Object.fromEntries(Object.entries(list).filter(([name]) => name !== resource));

function noteActuated(state: PodState, name: string, resources: ResourceRequirements): void {
  const containers = new Map(state.resize.actuated.containers).set(name, resources);
  state.resize.actuated = { ...state.resize.actuated, containers };
}

/** Records the new cgroup values and the resources that containers will be created with. */
export function noteCgroupApplied(state: PodState, pod: Pod): void {
  const whole = effective(allocationOf(pod));
  const containers = new Map([...Object.entries(whole.containers), ...state.resize.actuated.containers]);
  state.resize.actuated = { containers, pod: whole, isPodUnsure: false };
}

/** Records the resources that a container is about to be created with. */
export function noteCreatedWith(state: PodState, pod: Pod, name: string): void {
  const own = allocated(effective(allocationOf(pod)), name);
  if (own !== undefined) noteActuated(state, name, own);
}

/** What a previous kubelet process actuated, as soon as it can be compared with what runs. */
export function restoreActuated(state: PodState, pod: Pod, view: PodRuntimeView): Actuated {
  if (!state.resize.isActuatedKnown) {
    const known = actuatedAtStart(state.resize.allocatedBefore, pod, view);
    state.resize.actuated = {
      containers: new Map([...known.containers, ...state.resize.actuated.containers]),
      pod: state.resize.actuated.pod ?? known.pod,
      isPodUnsure: state.resize.actuated.pod === undefined && known.isPodUnsure,
    };
    state.resize.isActuatedKnown = true;
  }
  return state.resize.actuated;
}

async function refuseBelowUsage(
  { memory }: ResizeAction,
  { state, pod, allocation, sandboxId, ports: { runtime }, settings }: Resizing,
  signal: AbortSignal,
): Promise<void> {
  const lowered = memory.filter(({ lowersMemoryTo }) => lowersMemoryTo !== undefined);
  const limitOf = (resources: ResourceAllocation) =>
    settings.resources.podCgroupValues(pod, { ...allocation, resources }).memoryLimitBytes;
  const [before, next] = [
    state.resize.actuated.pod && limitOf(state.resize.actuated.pod),
    limitOf(allocation.resources),
  ];
  const isPodLowered =
    state.resize.actuated.pod !== undefined && next !== undefined && (before === undefined || next < before);
  if (lowered.length === 0 && !isPodLowered) return;
  const usageOf = async (stats: Promise<{ readonly memory?: { readonly usageBytes?: bigint } }>) =>
    (await stats).memory?.usageBytes;
  const whole = isPodLowered
    ? { limitBytes: next, usageBytes: await usageOf(runtime.sandboxStats(sandboxId, signal)) }
    : undefined;
  const containers = [];
  for (const { name, id, lowersMemoryTo = 0 } of lowered) {
    const usageBytes = await usageOf(runtime.containerStats(id, signal));
    containers.push({ name, limitBytes: BigInt(lowersMemoryTo), usageBytes });
  }
  const why = whyNotBelowUsage(whole, containers);
  if (why !== undefined) throw new Error(why);
}

function noteError(message: string, { state, pod, ports }: Resizing): void {
  const before = state.resize.inProgress ?? { generation: generationOf(pod), error: "" };
  if (before.error === message) return;
  state.resize.inProgress = { ...before, error: message };
  podEventEmitter(pod, ports)("Warning", "ResizeError", errorTextOf(pod, before.generation, message));
}

/** Journaled before the containers are stopped: however they exit, they start again. */
export async function noteRestarts(
  stops: readonly ContainerStop[],
  state: PodState,
  { journal, clock }: Pick<PodWorkerPorts, "journal" | "clock">,
): Promise<void> {
  const { uid } = state;
  const resized = stops.filter(
    ({ id, name, reason }) => reason.kind === "resized" && state.resize.restarts.get(name) !== id,
  );
  await Promise.all(
    resized.map(async ({ id, name }) => {
      const pod = nameInJournal(state, undefined);
      const common = { uid, pod, wallMs: clock.wallMs(), container: name, containerId: id };
      await journal.append({ kind: "restartForResize", ...common });
      state.resize.restarts.set(name, id);
    }),
  );
}

/** Tracks a granted resize until it is actuated. */
export async function followResize(
  state: PodState,
  pod: Pod,
  isResizing: boolean,
  ports: Pick<PodWorkerPorts, "journal" | "clock" | "events">,
): Promise<void> {
  const { allocatedGeneration } = state.resize;
  const isNew =
    allocatedGeneration !== undefined &&
    allocatedGeneration > state.resize.resizedGeneration &&
    allocatedGeneration !== state.resize.inProgress?.generation;
  if (isNew) state.resize.inProgress = { generation: allocatedGeneration, error: "" };
  if (isResizing) state.resize.inProgress ??= { generation: allocatedGeneration ?? generationOf(pod), error: "" };
  const { inProgress } = state.resize;
  if (isResizing || inProgress === undefined) return;
  const common = { uid: state.uid, pod: nameInJournal(state, undefined), wallMs: ports.clock.wallMs() };
  await ports.journal.append({ kind: "resized", ...common, generation: inProgress.generation });
  state.resize.resizedGeneration = Math.max(state.resize.resizedGeneration, inProgress.generation);
  state.resize.inProgress = undefined;
  podEventEmitter(pod, ports)("Normal", "ResizeCompleted", completedText(pod, inProgress.generation));
}
