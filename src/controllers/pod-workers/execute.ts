/** Carries out a decided list, in order. It decides nothing; a container that cannot start does not keep the next from being tried. */

import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import { errorText } from "../../base/error-text.ts";
import { nextTellingMs, type UnderWay } from "../../domain/images/pull-progress.ts";
import { type PodDns, podDns } from "../../domain/pod/dns-config.ts";
import { containerGraceSeconds } from "../../domain/pod/grace.ts";
import { podHostname } from "../../domain/pod/hostname.ts";
import type { ContainerStop, PodAction } from "../../domain/pod/pod-actions.ts";
import { podFolder, podLogFolder, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { type MadeParts, newestOf } from "../../domain/pod/runtime-view.ts";
import { sandboxConfig } from "../../domain/pod/sandbox-config.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import { isNameTaken } from "../../ports/runtime-error.ts";
import type { PodState } from "./pod-state.ts";
import { type StartCells, startContainer, startCreated, teller } from "./start-container.ts";
import { NAME_TAKEN_RETRY_MS, StartFailure } from "./start-failure.ts";
import type { PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";

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

export interface ExecutionContext {
  readonly state: PodState;
  readonly pod: Pod | undefined;
  readonly ports: PodWorkerPorts;
  readonly cells: StartCells;
  readonly settings: PodWorkerSettings;
  /** What a container may take to end, from now. */
  readonly graceMs: number;
}

export async function execute(
  actions: readonly PodAction[],
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<Execution> {
  let failed: { readonly what: string; readonly error: unknown } | undefined;
  // Whatever still cannot be had is noted again by the tries that follow.
  context.state.awaits.clear();
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
      if (action.kind !== "startContainer" && action.kind !== "startCreated") break;
      noteWaiting(action.name, error, context);
    }
  }
  if (failed !== undefined) return { kind: "failed", ...failed, againMs };
  return againMs.length > 0 && againMs.length === actions.length
    ? { kind: "waiting", againMs }
    : { kind: "done", made };
}

function noteWaiting(name: string, error: unknown, { state }: ExecutionContext): void {
  const reason = error instanceof StartFailure ? error.reason : "CreateContainerConfigError";
  state.waiting.set(name, { reason, message: errorText(error) });
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
      await stopAll(action.containers, context, signal);
      return;
    case "stopSandboxes":
      await allOf(action.ids.map((id) => context.ports.runtime.stopSandbox(id, signal)));
      return;
    case "makeRoom":
      await allOf([makeFolders(context), applyCgroup(context)]);
      return;
    case "createSandbox":
      made.sandboxIds.push(await createSandbox(action, context, signal));
      return;
    case "startContainer":
      return start(action, context, made, signal);
    case "startCreated":
      await startExisting(action, context, signal);
      return;
    default:
      return assertNever(action);
  }
}

/** All at once; each is tried whatever becomes of the others. */
async function stopAll(stops: readonly ContainerStop[], context: ExecutionContext, signal: AbortSignal): Promise<void> {
  const graceSeconds = containerGraceSeconds(context.graceMs);
  await allOf(
    stops.map((stop) => {
      tellStop(stop, context);
      return context.ports.runtime.stopContainer(stop.id, graceSeconds, signal);
    }),
  );
}

/** Nothing is under way any more when it rejects. */
async function allOf(work: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(work);
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

function tellStop({ name, reason }: ContainerStop, { pod, ports }: ExecutionContext): void {
  const container = pod?.spec?.containers.find((candidate) => candidate.name === name);
  if (pod === undefined || container === undefined) return;
  const message =
    reason.kind === "definitionChanged"
      ? `Container ${name} definition changed, will be restarted`
      : `Stopping container ${name}`;
  teller(pod, container, ports)("Normal", "Killing", message);
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
    tellPod(pod, context, "Failed", `error making pod data directories: ${errorText(error)}`);
    throw error;
  }
}

async function applyCgroup(context: ExecutionContext): Promise<void> {
  const pod = known(context);
  const { name, values } = context.settings.resources.podCgroup(pod);
  try {
    await context.ports.cgroups.apply(name, values);
    context.state.cgroupSeenMonotonicMs = context.ports.clock.monotonicMs();
  } catch (error) {
    tellPod(pod, context, "FailedCreatePodContainer", `unable to ensure pod container exists: ${errorText(error)}`);
    throw error;
  }
}

async function createSandbox(
  { attempt, replaces }: Extract<PodAction, { kind: "createSandbox" }>,
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<string> {
  const pod = known(context);
  if (replaces !== "none") {
    const message = "Pod sandbox changed, it will be killed and re-created.";
    tellPod(pod, context, "SandboxChanged", message, "Normal");
  }
  try {
    const { config, warnings } = await configOfSandbox(pod, attempt, context);
    tellDns(pod, warnings, context);
    return await context.ports.runtime.runSandbox(config, "", signal);
  } catch (error) {
    signal.throwIfAborted();
    tellPod(pod, context, "FailedCreatePodSandBox", `Failed to create pod sandbox: ${errorText(error)}`);
    if (!isNameTaken(error)) throw error;
    // By a sandbox or by nothing that can be seen: only the next name helps.
    context.state.sandboxFloor = attempt + 1;
    throw new StartFailure("CreatePodSandboxError", errorText(error), NAME_TAKEN_RETRY_MS);
  }
}

async function configOfSandbox(
  pod: Pod,
  attempt: number,
  { ports, settings }: ExecutionContext,
): Promise<{ readonly config: SandboxConfig; readonly warnings: PodDns["warnings"] }> {
  const { clusterDns, hostname, nodeIps, podLogsDir, resources } = settings;
  const { clusterDomain } = hostname;
  const dns = podDns(pod, { clusterDns, clusterDomain, nodeIps, host: await settings.hostResolver() });
  const config = sandboxConfig(pod, attempt, {
    podLogsDir,
    dns: dns.config,
    hostname: ownName(pod, settings),
    cgroupParent: ports.cgroups.pathOf(resources.podCgroup(pod).name),
    ...resources.sandboxResources(pod),
  });
  return { config, warnings: dns.warnings };
}

function ownName(pod: Pod, settings: PodWorkerSettings): string {
  // On the node's network it has the node's.
  if (pod.spec?.hostNetwork === true) return "";
  const name = podHostname(pod, settings.hostname);
  if (name.kind === "refused") throw new Error(name.message);
  return name.hostname;
}

function tellDns(pod: Pod, warnings: PodDns["warnings"], { ports, settings }: ExecutionContext): void {
  const ofNode = { kind: "Node", name: settings.nodeName, namespace: "", uid: "" } as const;
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
  const { state, ports, cells, settings } = context;
  const pod = known(context);
  const container = containerOf(pod, action.name);
  const sandbox = state.view?.sandboxes[0];
  if (sandbox === undefined) throw new Error(`no sandbox to start ${action.name} in`);
  const { config: sandboxConfig } = await configOfSandbox(pod, sandbox.metadata.attempt, context);
  const { restartCount, after } = action;
  const started = await startContainer(
    { pod, container, restartCount, after, sandbox, sandboxConfig },
    state,
    ports,
    cells,
    settings,
    signal,
  );
  if (typeof started !== "string") return started;
  state.waiting.delete(action.name);
  made.containers.push({ id: started, sandboxId: sandbox.id });
  return undefined;
}

async function startExisting(
  { name, id }: Extract<PodAction, { kind: "startCreated" }>,
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<void> {
  const pod = known(context);
  const restartCount = containerAttempt(context, name);
  await startCreated(
    { pod, container: containerOf(pod, name), id, restartCount },
    context.ports,
    context.settings,
    signal,
  );
  context.state.waiting.delete(name);
}

const containerAttempt = ({ state }: ExecutionContext, name: string): number =>
  (state.view === undefined ? undefined : newestOf(state.view, name))?.metadata.attempt ?? 0;

function known({ pod, state }: ExecutionContext): Pod {
  if (pod === undefined) throw new Error(`nothing starts for ${state.uid}: no source knows it`);
  return pod;
}

function containerOf(pod: Pod, name: string): Container {
  const found = pod.spec?.containers.find((container) => container.name === name);
  if (found === undefined) throw new Error(`the pod has no container ${name}`);
  return found;
}

function tellPod(
  pod: Pod,
  { ports }: ExecutionContext,
  reason: string,
  message: string,
  type: "Normal" | "Warning" = "Warning",
): void {
  const { name, namespace, uid } = podNameOfObject(pod);
  ports.events.emit({ kind: "Pod", name, namespace, uid }, type, reason, message);
}
