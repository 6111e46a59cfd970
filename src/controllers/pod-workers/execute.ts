/** Carries out a decided list, in order. It decides nothing; a container that cannot start does not keep the next from being tried. */

import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import { errorText } from "../../base/error-text.ts";
import { containerGraceSeconds } from "../../domain/pod/grace.ts";
import { podHostname } from "../../domain/pod/hostname.ts";
import type { ContainerStop, PodAction } from "../../domain/pod/pod-actions.ts";
import { podFolder, podLogFolder, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { nextBackoff } from "../../domain/pod/restart-backoff.ts";
import { type MadeParts, newestOf } from "../../domain/pod/runtime-view.ts";
import { sandboxConfig } from "../../domain/pod/sandbox-config.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import { isNameTaken } from "../../ports/runtime-error.ts";
import type { PodState } from "./pod-state.ts";
import { backoffKey } from "./snapshot.ts";
import { startContainer, startCreated, teller } from "./start-container.ts";
import { NAME_TAKEN_RETRY_MS, StartFailure } from "./start-failure.ts";
import type { PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";

export type Execution =
  | { readonly kind: "done"; readonly made: MadeParts }
  /** Part of it could not be done; `retryMs`: no use in trying before. */
  | { readonly kind: "failed"; readonly what: string; readonly error: unknown; readonly retryMs: number | undefined }
  | { readonly kind: "aborted" };

/** Grows as the list is carried out. */
interface Made {
  readonly sandboxIds: string[];
  readonly containers: { readonly id: string; readonly sandboxId: string }[];
}

export interface ExecutionContext {
  readonly state: PodState;
  readonly pod: Pod | undefined;
  readonly ports: PodWorkerPorts;
  readonly settings: PodWorkerSettings;
  /** What a container may take to end, from now. */
  readonly graceMs: number;
}

export async function execute(
  actions: readonly PodAction[],
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<Execution> {
  let failed: Execution | undefined;
  const made: Made = { sandboxIds: [], containers: [] };
  for (const action of actions) {
    if (signal.aborted) return { kind: "aborted" };
    try {
      await perform(action, context, made, signal);
    } catch (error) {
      if (signal.aborted) return { kind: "aborted" };
      const retryMs = error instanceof StartFailure ? error.retryMs : undefined;
      failed = { kind: "failed", what: action.kind, error, retryMs: shorter(failed, retryMs) };
      if (action.kind !== "startContainer" && action.kind !== "startCreated") return failed;
      noteWaiting(action.name, error, context);
    }
  }
  return failed ?? { kind: "done", made };
}

const shorter = (before: Execution | undefined, retryMs: number | undefined): number | undefined => {
  const known = before?.kind === "failed" ? before.retryMs : undefined;
  return known === undefined || retryMs === undefined ? (known ?? retryMs) : Math.min(known, retryMs);
};

function noteWaiting(name: string, error: unknown, { state }: ExecutionContext): void {
  const reason = error instanceof StartFailure ? error.reason : "CreateContainerConfigError";
  state.waiting.set(name, { reason, message: errorText(error) });
}

async function perform(action: PodAction, context: ExecutionContext, made: Made, signal: AbortSignal): Promise<void> {
  switch (action.kind) {
    case "stopContainers":
      return stopAll(action.containers, context, signal);
    case "stopSandboxes":
      return allOf(action.ids.map((id) => context.ports.runtime.stopSandbox(id, signal)));
    case "makeRoom":
      return allOf([makeFolders(context), applyCgroup(context)]);
    case "createSandbox":
      made.sandboxIds.push(await createSandbox(action, context, signal));
      return;
    case "startContainer":
      made.containers.push(await start(action, context, signal));
      return;
    case "startCreated":
      return startExisting(action, context, signal);
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
    const config = await configOfSandbox(pod, attempt, context);
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
): Promise<SandboxConfig> {
  const hostname = podHostname(pod, settings.clusterDomain);
  if (hostname.kind === "tooLong") throw new Error(hostname.message);
  const { clusterDns, clusterDomain, podLogsDir, resources } = settings;
  return sandboxConfig(pod, attempt, {
    podLogsDir,
    dns: { clusterDns, clusterDomain, host: await settings.hostResolver() },
    hostname: hostname.hostname,
    cgroupParent: ports.cgroups.pathOf(resources.podCgroup(pod).name),
    ...resources.sandboxResources(pod),
  });
}

async function start(
  action: Extract<PodAction, { kind: "startContainer" }>,
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<Made["containers"][number]> {
  const { state, ports, settings } = context;
  const pod = known(context);
  const container = containerOf(pod, action.name);
  const sandbox = state.view?.sandboxes[0];
  if (sandbox === undefined) throw new Error(`no sandbox to start ${action.name} in`);
  const sandboxSettings = await configOfSandbox(pod, sandbox.metadata.attempt, context);
  if (action.after !== undefined) {
    const key = backoffKey(container);
    state.backoffs.set(
      key,
      nextBackoff(state.backoffs.get(key), action.after, ports.clock.wallMs(), settings.backoffCapMs),
    );
  }
  const { restartCount } = action;
  const id = await startContainer(
    { pod, container, restartCount, sandboxId: sandbox.id, sandboxConfig: sandboxSettings },
    state,
    ports,
    settings,
    signal,
  );
  state.waiting.delete(action.name);
  return { id, sandboxId: sandbox.id };
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
