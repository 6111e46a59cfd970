/**
 * Executes decided actions in order and decides nothing itself. A container that cannot start does not keep the next
 * one from being tried.
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import { errorText } from "../../base/error-text.ts";
import { settleAll } from "../../concurrency/settle-all.ts";
import { asksForUsers } from "../../domain/container-config/user-namespace.ts";
import { nextNoteMs, type UnderWay } from "../../domain/images/pull-progress.ts";
import { type ContainerRole, type ContainerSpec, containerNamed } from "../../domain/pod/containers.ts";
import type { PodAction } from "../../domain/pod/pod-actions.ts";
import { podDirectory, podLogDirectory, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { type CreatedParts, newestOf } from "../../domain/pod/runtime-view.ts";
import type { ResizeAction } from "../../domain/resize/actuation.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";
import { configOfSandbox, createSandbox, usersFor } from "./create-sandbox.ts";
import { containerEventEmitter, podEventEmitter } from "./event-emitter.ts";
import { allocationIn, type ExecutionContext, podOf } from "./execution-context.ts";
import { hookRun, noteHook, runHook } from "./hooks.ts";
import { nameInJournal } from "./pod-state.ts";
import { noteCgroupApplied, noteRestarts, resizePod } from "./resize.ts";
import { startContainer, startCreated } from "./start-container.ts";
import { StartFailure } from "./start-failure.ts";
import { stopContainers } from "./stop-containers.ts";
import { KillError } from "./turn-failure.ts";
import type { PodWorkerPorts } from "./worker-options.ts";

export type Execution =
  | { readonly kind: "done"; readonly created: CreatedParts }
  /** Part of the actions failed. */
  | ({ readonly kind: "failed"; readonly what: string; readonly error: unknown } & Again)
  /** Everything that is left waits for images. */
  | ({ readonly kind: "waiting" } & Again)
  | { readonly kind: "aborted" };

interface Again {
  /** Per part, the delay until it is retried or its progress is reported again; undefined: the default retry delay. */
  readonly againMs: readonly (number | undefined)[];
}

/** Grows while the actions are executed. */
interface Created {
  readonly sandboxIds: string[];
  readonly containers: { readonly id: string; readonly sandboxId: string }[];
}

export async function execute(
  actions: readonly PodAction[],
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<Execution> {
  let failed: { readonly what: string; readonly error: unknown } | undefined;
  // The actions below add the keys that are still missing.
  context.state.containers.blockedOn.clear();
  const created: Created = { sandboxIds: [], containers: [] };
  const againMs: (number | undefined)[] = [];
  for (const action of actions) {
    if (signal.aborted) return { kind: "aborted" };
    try {
      const underWay = await perform(action, context, created, signal);
      if (underWay !== undefined) againMs.push(nextNoteMs(underWay, context.ports.clock.monotonicMs()));
    } catch (error) {
      if (signal.aborted) return { kind: "aborted" };
      againMs.push(error instanceof StartFailure ? error.retryMs : undefined);
      failed = { what: action.kind, error };
      // A pod that cannot be resized keeps running unchanged; its other actions are executed.
      if (action.kind === "resize") continue;
      if (!("name" in action)) break;
      noteWaiting(action.name, error, context);
    }
  }
  if (failed !== undefined) {
    const wasToBegin = actions.some(({ kind }) => kind === "createSandbox");
    if (wasToBegin && hasOwnUsers(context)) context.ports.podMetrics?.startedWithUsersErrors.increment();
    return { kind: "failed", ...failed, againMs };
  }
  return againMs.length > 0 && againMs.length === actions.length
    ? { kind: "waiting", againMs }
    : { kind: "done", created };
}

const hasOwnUsers = ({ pod }: ExecutionContext): boolean => pod !== undefined && asksForUsers(pod);

function noteWaiting(name: string, error: unknown, { state }: ExecutionContext): void {
  const { reason, message } =
    error instanceof StartFailure ? error : new StartFailure("CreateContainerConfigError", errorText(error));
  state.containers.waiting.set(name, { reason, message });
}

/** Returns the pull progress if a container has to wait for its image. */
async function perform(
  action: PodAction,
  context: ExecutionContext,
  created: Created,
  signal: AbortSignal,
): Promise<UnderWay | undefined> {
  switch (action.kind) {
    case "stopContainers":
      await noteRestarts(action.containers, context.state, context.ports);
      await stopContainers(action.containers, context, signal);
      return;
    case "stopSandboxes":
      await settleAll(action.ids.map((id) => stopSandbox(id, context, signal)));
      return;
    case "removeUnstarted":
      await settleAll(action.ids.map((id) => removeUnstarted(id, context.ports, signal)));
      return;
    case "removeForRestart":
      await removeForRestart(action, context, signal);
      return;
    case "makeRoom":
      await settleAll([makeDirectories(context), applyCgroup(context)]);
      return;
    case "createSandbox":
      created.sandboxIds.push(await createSandbox(action, context, signal));
      return;
    case "resize":
      await resize(action, context, created, signal);
      return;
    case "startContainer":
      return start(action, context, created, signal);
    case "startCreated":
      await startExisting(action, context, signal);
      return;
    case "postStart":
      await postStart(action, context, signal);
      return;
    default:
      return assertNever(action);
  }
}

/** A start that was in flight may have succeeded since: a container that has run stays until its exit is journaled. */
async function removeUnstarted(
  id: string,
  { runtime }: Pick<PodWorkerPorts, "runtime">,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { status } = await runtime.containerStatus(id, { verbose: false }, signal);
    if (status.state !== "created") return;
  } catch (error) {
    if (isRuntimeError(error, "notFound")) return;
    throw error;
  }
  await runtime.removeContainer(id, signal);
}

/** Journaled first: once the containers are removed, nothing else shows that they must run again. */
async function removeForRestart(
  { first, last }: Extract<PodAction, { kind: "removeForRestart" }>,
  { state, ports }: ExecutionContext,
  signal: AbortSignal,
): Promise<void> {
  const { journal, clock, runtime } = ports;
  const [uid, pod] = [state.uid, nameInJournal(state, undefined)];
  await journal.append({ kind: "restartingAll", uid, pod, wallMs: clock.wallMs() });
  for (const [name, exit] of state.containers.knownExits)
    state.containers.knownExits.set(name, { ...exit, wasReset: true });
  state.containers.waiting.clear();
  for (const ids of [first, last]) await settleAll(ids.map((id) => runtime.removeContainer(id, signal)));
}

async function makeDirectories(context: ExecutionContext): Promise<void> {
  const { ports, settings } = context;
  const pod = podOf(context);
  const name = podNameOfObject(pod);
  const directory = podDirectory(settings.rootDir, name.uid);
  try {
    await ports.files.makeDirectory(directory, 0o750);
    await settleAll([
      ports.files.makeDirectory(`${directory}/volumes`, 0o750),
      ports.files.makeDirectory(`${directory}/plugins`, 0o750),
      ports.files.makeDirectory(podLogDirectory(settings.podLogsDir, name), 0o755),
    ]);
  } catch (error) {
    podEventEmitter(pod, ports)("Warning", "Failed", `error making pod data directories: ${errorText(error)}`);
    throw error;
  }
}

async function applyCgroup(context: ExecutionContext): Promise<void> {
  const pod = podOf(context);
  const { resources } = context.settings;
  const values = resources.podCgroupValues(pod, allocationIn(context));
  try {
    await context.ports.cgroups.apply(resources.podCgroupName(pod), values);
    context.state.sandbox.cgroupSeenMonotonicMs = context.ports.clock.monotonicMs();
    noteCgroupApplied(context.state, pod);
  } catch (error) {
    const message = `unable to ensure pod container exists: ${errorText(error)}`;
    podEventEmitter(pod, context.ports)("Warning", "FailedCreatePodContainer", message);
    throw error;
  }
}

/** Resized containers are inspected again, like those that were just created. */
async function resize(
  action: ResizeAction,
  context: ExecutionContext,
  created: Created,
  signal: AbortSignal,
): Promise<void> {
  const { state, ports, settings } = context;
  const sandboxId = state.view?.sandboxes[0]?.id ?? "";
  const ids = new Set([...action.memory, ...action.cpu].map(({ id }) => id));
  created.containers.push(...[...ids].map((id) => ({ id, sandboxId })));
  const allocation = allocationIn(context);
  await resizePod(action, { state, pod: podOf(context), allocation, sandboxId, ports, settings }, signal);
}

async function start(
  action: Extract<PodAction, { kind: "startContainer" }>,
  context: ExecutionContext,
  created: Created,
  signal: AbortSignal,
): Promise<UnderWay | undefined> {
  const { state, ports } = context;
  const pod = podOf(context);
  const containerSpec = containerOf(pod, action.name);
  const sandbox = state.view?.sandboxes[0];
  if (sandbox === undefined) throw new Error(`no sandbox to start ${action.name} in`);
  // Containers use the user namespace that their sandbox runs with, whatever is on disk.
  const running = sandbox.namespaces?.user;
  const users = running?.mode === "pod" ? running : await usersFor(pod, sandbox.runtimeHandler, context);
  const { config: sandboxConfig } = await configOfSandbox(pod, sandbox.metadata.attempt, users, context);
  const { restartCount, after } = action;
  const { podMetrics } = ports;
  const allocation = allocationIn(context);
  const toStart = { pod, allocation, containerSpec, restartCount, after, sandbox, sandboxConfig };
  const started = await startContainer(toStart, context, signal).catch((error: unknown) => {
    if (error instanceof StartFailure) {
      podMetrics?.startedContainers.increment(KINDS[containerSpec.role]);
      podMetrics?.startedContainerErrors.increment(KINDS[containerSpec.role], error.reason);
    }
    throw error;
  });
  if (typeof started !== "string") return started;
  podMetrics?.startedContainers.increment(KINDS[containerSpec.role]);
  state.containers.waiting.delete(action.name);
  created.containers.push({ id: started, sandboxId: sandbox.id });
  return undefined;
}

/** Label values of the container metrics. */
const KINDS: Readonly<Record<ContainerRole, string>> = {
  init: "init_container",
  sidecar: "init_container",
  regular: "container",
  ephemeral: "ephemeral_container",
};

async function startExisting(
  { name, id }: Extract<PodAction, { kind: "startCreated" }>,
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<void> {
  const pod = podOf(context);
  const restartCount = containerAttempt(context, name);
  await startCreated({ pod, containerSpec: containerOf(pod, name), id, restartCount }, context, signal);
  context.state.containers.waiting.delete(name);
}

/**
 * Runs a postStart hook at least once: if the kubelet dies during the hook, the next process runs the hook again. A
 * failed hook stops its container.
 */
async function postStart(
  { name, id }: Extract<PodAction, { kind: "postStart" }>,
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<void> {
  const { state, ports } = context;
  const pod = podOf(context);
  const containerSpec = containerOf(pod, name);
  const handler = containerSpec.container.lifecycle?.postStart;
  const run = handler && hookRun({ pod: podNameOfObject(pod), container: name, id, handler }, context);
  const failure = run && (await runHook(run, ports, signal));
  if (failure === undefined) {
    await noteHook({ container: name, containerId: id, hook: "postStartDone" }, state, ports);
    state.containers.postStartDue.delete(id);
    return;
  }
  containerEventEmitter(pod, containerSpec, ports)("Warning", "FailedPostStartHook", "PostStartHook failed");
  await stopContainers([{ id, name, reason: { kind: "postStartFailed" } }], context, signal);
  throw new StartFailure("PostStartHookError", failure);
}

async function stopSandbox(id: string, { ports }: ExecutionContext, signal: AbortSignal): Promise<void> {
  try {
    await ports.runtime.stopSandbox(id, signal);
  } catch (error) {
    throw new KillError(undefined, error);
  }
}

const containerAttempt = ({ state }: ExecutionContext, name: string): number =>
  (state.view === undefined ? undefined : newestOf(state.view, name))?.metadata.attempt ?? 0;

function containerOf(pod: Pod, name: string): ContainerSpec {
  const found = containerNamed(pod.spec, name);
  if (found === undefined) throw new Error(`the pod has no container ${name}`);
  return found;
}
