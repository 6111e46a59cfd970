/** Carries out a decided list, in order. It decides nothing; a container that cannot start does not keep the next from being tried. */

import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import { errorText } from "../../base/error-text.ts";
import { allOf } from "../../concurrency/all-of.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import { type PodDns, podDns } from "../../domain/container-config/dns-config.ts";
import { podHostname } from "../../domain/container-config/hostname.ts";
import { RUNTIME_CLASSES_KEY, runtimeHandler } from "../../domain/container-config/runtime-handler.ts";
import { sandboxConfig } from "../../domain/container-config/sandbox-config.ts";
import {
  asksForUsers,
  NODE_USERS,
  type UserNamespace,
  whyNoUsers,
} from "../../domain/container-config/user-namespace.ts";
import { nodeSubject } from "../../domain/events/recorded-event.ts";
import { nextTellingMs, type UnderWay } from "../../domain/images/pull-progress.ts";
import { type ContainerRole, containerNamed, type RoledContainer } from "../../domain/pod/every-container.ts";
import type { PodAction } from "../../domain/pod/pod-actions.ts";
import { podFolder, podLogFolder, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { type MadeParts, newestOf } from "../../domain/pod/runtime-view.ts";
import type { ResizeAction } from "../../domain/resize/actuation.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import { volumeGroups } from "../../domain/volumes/volume-groups.ts";
import { isNameTaken, isRuntimeError, rpcText } from "../../ports/runtime-error.ts";
import type { PodWork } from "./container-creation.ts";
import { hookRun, noteHook, runHook } from "./hooks.ts";
import { nameInJournal } from "./pod-state.ts";
import { noteMadeRoom, noteRestarts, resizePod } from "./resize.ts";
import { startContainer, startCreated } from "./start-container.ts";
import { NAME_TAKEN_RETRY_MS, SandboxNotAsked, StartFailure } from "./start-failure.ts";
import { stopContainers } from "./stop-containers.ts";
import { podTeller, teller } from "./tell.ts";
import { KillError } from "./turn-failure.ts";
import type { PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";

/** A runtime that takes longer over one sandbox makes two of them for a moment, of which none is kept. */
const STILL_MADE_MS = 10_000;

export type Execution =
  | { readonly kind: "done"; readonly made: MadeParts }
  /** Part of it could not be done. */
  | ({ readonly kind: "failed"; readonly what: string; readonly error: unknown } & Again)
  /** All that is left waits for images. */
  | ({ readonly kind: "waiting" } & Again)
  | { readonly kind: "aborted" };

interface Again {
  /** When each part of it may be tried, or told of, again; undefined: when it is usual. */
  readonly againMs: readonly (number | undefined)[];
}

/** Grows as the list is carried out. */
interface Made {
  readonly sandboxIds: string[];
  readonly containers: { readonly id: string; readonly sandboxId: string }[];
}

export interface ExecutionContext extends PodWork {
  readonly pod: Pod | undefined;
  /** What containers may take to end, all of them from now; undefined: each what its pod grants it. */
  readonly graceMs: number | undefined;
  /** Told when the first hook before a container's end begins, and when the last is over. */
  readonly onHooks?: (areUnderWay: boolean) => void;
}

export async function execute(
  actions: readonly PodAction[],
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<Execution> {
  let failed: { readonly what: string; readonly error: unknown } | undefined;
  // Whatever still cannot be had is noted again by the tries that follow.
  context.state.containers.awaits.clear();
  const made: Made = { sandboxIds: [], containers: [] };
  const againMs: (number | undefined)[] = [];
  for (const action of actions) {
    if (signal.aborted) return { kind: "aborted" };
    try {
      const underWay = await perform(action, context, made, signal);
      if (underWay !== undefined) againMs.push(nextTellingMs(underWay, context.ports.clock.monotonicMs()));
    } catch (error) {
      if (signal.aborted) return { kind: "aborted" };
      againMs.push(error instanceof StartFailure ? error.retryMs : undefined);
      failed = { what: action.kind, error };
      // A pod that cannot be resized runs on as it is, and whatever else it needs is done.
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
    : { kind: "done", made };
}

const hasOwnUsers = ({ pod }: ExecutionContext): boolean => pod !== undefined && asksForUsers(pod);

function noteWaiting(name: string, error: unknown, { state }: ExecutionContext): void {
  const { reason, message } =
    error instanceof StartFailure ? error : new StartFailure("CreateContainerConfigError", errorText(error));
  state.containers.waiting.set(name, { reason, message });
}

/** Answers with how far its image is where a container is to wait for that. */
async function perform(
  action: PodAction,
  context: ExecutionContext,
  made: Made,
  signal: AbortSignal,
): Promise<UnderWay | undefined> {
  switch (action.kind) {
    case "stopContainers":
      await noteRestarts(action.containers, context.state, context.ports);
      await stopContainers(action.containers, context, signal);
      return;
    case "stopSandboxes":
      await allOf(action.ids.map((id) => stopSandbox(id, context, signal)));
      return;
    case "removeUnstarted":
      await allOf(action.ids.map((id) => removeUnstarted(id, context.ports, signal)));
      return;
    case "removeForRestart":
      await removeForRestart(action, context, signal);
      return;
    case "makeRoom":
      await allOf([makeFolders(context), applyCgroup(context)]);
      return;
    case "createSandbox":
      made.sandboxIds.push(await createSandbox(action, context, signal));
      return;
    case "resize":
      await resize(action, context, made, signal);
      return;
    case "startContainer":
      return start(action, context, made, signal);
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

/** A start that was under way may have succeeded since: what ran stays until its exit is in the journal. */
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

/** In the journal first: of what is removed nobody could say that it is to run again. */
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
  for (const ids of [first, last]) await allOf(ids.map((id) => runtime.removeContainer(id, signal)));
}

async function makeFolders(context: ExecutionContext): Promise<void> {
  const { ports, settings } = context;
  const pod = known(context);
  const name = podNameOfObject(pod);
  const folder = podFolder(settings.rootDir, name.uid);
  try {
    await ports.files.makeFolder(folder, 0o750);
    await allOf([
      ports.files.makeFolder(`${folder}/volumes`, 0o750),
      ports.files.makeFolder(`${folder}/plugins`, 0o750),
      ports.files.makeFolder(podLogFolder(settings.podLogsDir, name), 0o755),
    ]);
  } catch (error) {
    podTeller(pod, ports)("Warning", "Failed", `error making pod data directories: ${errorText(error)}`);
    throw error;
  }
}

async function applyCgroup(context: ExecutionContext): Promise<void> {
  const pod = known(context);
  const { resources } = context.settings;
  const values = resources.podCgroupValues(pod, allocationIn(context));
  try {
    await context.ports.cgroups.apply(resources.podCgroupName(pod), values);
    context.state.sandbox.cgroupSeenMonotonicMs = context.ports.clock.monotonicMs();
    noteMadeRoom(context.state, pod);
  } catch (error) {
    const message = `unable to ensure pod container exists: ${errorText(error)}`;
    podTeller(pod, context.ports)("Warning", "FailedCreatePodContainer", message);
    throw error;
  }
}

/** Those it told something are looked at again, like those that were just made. */
async function resize(action: ResizeAction, context: ExecutionContext, made: Made, signal: AbortSignal): Promise<void> {
  const { state, ports, settings } = context;
  const sandboxId = state.view?.sandboxes[0]?.id ?? "";
  const ids = new Set([...action.memory, ...action.cpu].map(({ id }) => id));
  made.containers.push(...[...ids].map((id) => ({ id, sandboxId })));
  const allocation = allocationIn(context);
  await resizePod(action, { state, pod: known(context), allocation, sandboxId, ports, settings }, signal);
}

async function createSandbox(
  { attempt, replaces }: Extract<PodAction, { kind: "createSandbox" }>,
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<string> {
  const pod = known(context);
  const tell = podTeller(pod, context.ports);
  if (replaces !== "none") tell("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
  let isAsked = false;
  if (asksForUsers(pod)) context.ports.podMetrics?.startedWithUsers.increment();
  try {
    const handler = handlerFor(pod, context);
    const users = await usersFor(pod, handler, context);
    const { config, warnings } = await configOfSandbox(pod, attempt, users, context);
    tellDns(pod, warnings, context);
    isAsked = true;
    return await context.ports.runtime.runSandbox(config, handler, signal);
  } catch (error) {
    signal.throwIfAborted();
    tell("Warning", "FailedCreatePodSandBox", `Failed to create pod sandbox: ${rpcText(error)}`);
    if (!isAsked) throw new SandboxNotAsked(errorText(error), { cause: error });
    if (!isNameTaken(error)) throw error;
    noteNameTaken(attempt, context);
    throw new StartFailure("CreatePodSandboxError", errorText(error), NAME_TAKEN_RETRY_MS);
  }
}

/**
 * It is one that the runtime is still making for an agent before us, and is taken over when it is done; or nothing that can be seen,
 * and then only the next name helps. Which of the two, time tells.
 */
function noteNameTaken(attempt: number, { state, ports }: ExecutionContext): void {
  const nowMs = ports.clock.monotonicMs();
  if (state.sandbox.nameTaken?.attempt !== attempt) state.sandbox.nameTaken = { attempt, sinceMonotonicMs: nowMs };
  if (nowMs - state.sandbox.nameTaken.sinceMonotonicMs >= STILL_MADE_MS) state.sandbox.attemptMin = attempt + 1;
}

async function configOfSandbox(
  pod: Pod,
  attempt: number,
  users: UserNamespace,
  context: ExecutionContext,
): Promise<{ readonly config: SandboxConfig; readonly warnings: PodDns["warnings"] }> {
  const { ports, cells, settings } = context;
  const { clusterDns, hostname, nodeIps, podLogsDir, resources } = settings;
  const { clusterDomain } = hostname;
  const dns = podDns(pod, { clusterDns, clusterDomain, nodeIps, host: await settings.hostResolver() });
  const config = sandboxConfig(pod, attempt, {
    podLogsDir,
    dns: dns.config,
    hostname: ownName(pod, settings),
    cgroupParent: ports.cgroups.pathOf(resources.podCgroupName(pod)),
    ...resources.sandboxResources(pod, allocationIn(context)),
    identity: { volumeGroups: volumeGroups(pod, (key) => cells.referencedObjects.get(key)), users },
  });
  return { config, warnings: dns.warnings };
}

function handlerFor(pod: Pod, { state, cells }: ExecutionContext): string {
  const answer = runtimeHandler(pod, cells.runtimeClasses.value);
  if (answer.kind === "handler") return answer.handler;
  state.containers.awaits.add(RUNTIME_CLASSES_KEY);
  throw new Error(answer.message);
}

async function usersFor(pod: Pod, handler: string, context: ExecutionContext): Promise<UserNamespace> {
  if (!asksForUsers(pod)) return NODE_USERS;
  const health = context.cells.runtimeHealth.value;
  const why = whyNoUsers(health.kind === "answered" ? health.status : { handlers: [] }, handler);
  if (why !== undefined) throw new Error(why);
  return context.settings.userRanges.take(podNameOfObject(pod).uid);
}

function ownName(pod: Pod, settings: PodWorkerSettings): string {
  // On the node's network it has the node's.
  if (pod.spec?.hostNetwork === true) return "";
  const name = podHostname(pod, settings.hostname);
  if (name.kind === "refused") throw new Error(name.message);
  return name.hostname;
}

function tellDns(pod: Pod, warnings: PodDns["warnings"], { ports, settings }: ExecutionContext): void {
  const ofNode = nodeSubject(settings.nodeName);
  const ofPod = { kind: "Pod", ...podNameOfObject(pod) } as const;
  for (const { about, reason, message } of warnings) {
    ports.events.emit(about === "node" ? ofNode : ofPod, "Warning", reason, message);
  }
}

async function start(
  action: Extract<PodAction, { kind: "startContainer" }>,
  context: ExecutionContext,
  made: Made,
  signal: AbortSignal,
): Promise<UnderWay | undefined> {
  const { state, ports } = context;
  const pod = known(context);
  const roled = containerOf(pod, action.name);
  const sandbox = state.view?.sandboxes[0];
  if (sandbox === undefined) throw new Error(`no sandbox to start ${action.name} in`);
  // The users that the sandbox runs with are its containers' too, whatever is on disk.
  const running = sandbox.namespaces?.user;
  const users = running?.mode === "pod" ? running : await usersFor(pod, sandbox.runtimeHandler, context);
  const { config: sandboxConfig } = await configOfSandbox(pod, sandbox.metadata.attempt, users, context);
  const { restartCount, after } = action;
  const { podMetrics } = ports;
  const allocation = allocationIn(context);
  const toStart = { pod, allocation, roled, restartCount, after, sandbox, sandboxConfig };
  const started = await startContainer(toStart, context, signal).catch((error: unknown) => {
    if (error instanceof StartFailure) {
      podMetrics?.startedContainers.increment(KINDS[roled.role]);
      podMetrics?.startedContainerErrors.increment(KINDS[roled.role], error.reason);
    }
    throw error;
  });
  if (typeof started !== "string") return started;
  podMetrics?.startedContainers.increment(KINDS[roled.role]);
  state.containers.waiting.delete(action.name);
  made.containers.push({ id: started, sandboxId: sandbox.id });
  return undefined;
}

/** As the counters call them. */
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
  const pod = known(context);
  const restartCount = containerAttempt(context, name);
  await startCreated({ pod, roled: containerOf(pod, name), id, restartCount }, context, signal);
  context.state.containers.waiting.delete(name);
}

/** Done at least once: an agent that dies in the middle of it leaves it to the next. One that fails takes its container with it. */
async function postStart(
  { name, id }: Extract<PodAction, { kind: "postStart" }>,
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<void> {
  const { state, ports } = context;
  const pod = known(context);
  const roled = containerOf(pod, name);
  const handler = roled.container.lifecycle?.postStart;
  const run = handler && hookRun({ pod: podNameOfObject(pod), container: name, id, handler }, context);
  const failure = run && (await runHook(run, ports, signal));
  if (failure === undefined) {
    await noteHook({ container: name, containerId: id, hook: "postStartDone" }, state, ports);
    state.containers.postStartDue.delete(id);
    return;
  }
  teller(pod, roled, ports)("Warning", "FailedPostStartHook", "PostStartHook failed");
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

function known({ pod, state }: ExecutionContext): Pod {
  if (pod === undefined) throw new Error(`nothing starts for ${state.uid}: no source knows it`);
  return pod;
}

function allocationIn({ state }: ExecutionContext): PodAllocation {
  if (state.allocation === undefined) throw new Error(`nothing starts for ${state.uid}: this node did not admit it`);
  return state.allocation;
}

function containerOf(pod: Pod, name: string): RoledContainer {
  const found = containerNamed(pod.spec, name);
  if (found === undefined) throw new Error(`the pod has no container ${name}`);
  return found;
}
