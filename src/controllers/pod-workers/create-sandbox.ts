/** Creates a pod's sandbox and determines its configuration. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
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
import { nodeSubject, podSubject } from "../../domain/events/recorded-event.ts";
import type { PodAction } from "../../domain/pod/pod-actions.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import { volumeGroups } from "../../domain/volumes/volume-groups.ts";
import { isNameTaken, rpcText } from "../../ports/runtime-error.ts";
import { podEventEmitter } from "./event-emitter.ts";
import { allocationIn, type ExecutionContext, podOf } from "./execution-context.ts";
import { NAME_TAKEN_RETRY_MS, SandboxNotRequested, StartFailure } from "./start-failure.ts";
import type { PodWorkerSettings } from "./worker-options.ts";

/** How long a runtime may take to create one sandbox. */
const CREATION_MS_MAX = 10_000;

/** Returns the ID of the sandbox. */
export async function createSandbox(
  { attempt, replaces }: Extract<PodAction, { kind: "createSandbox" }>,
  context: ExecutionContext,
  signal: AbortSignal,
): Promise<string> {
  const pod = podOf(context);
  const emit = podEventEmitter(pod, context.ports);
  if (replaces !== "none") emit("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
  let isRequested = false;
  if (asksForUsers(pod)) context.ports.podMetrics?.startedWithUsers.increment();
  try {
    const handler = handlerFor(pod, context);
    const users = await usersFor(pod, handler, context);
    const { config, warnings } = await configOfSandbox(pod, attempt, users, context);
    emitDnsWarnings(pod, warnings, context);
    isRequested = true;
    return await context.ports.runtime.runSandbox(config, handler, signal);
  } catch (error) {
    signal.throwIfAborted();
    emit("Warning", "FailedCreatePodSandBox", `Failed to create pod sandbox: ${rpcText(error)}`);
    if (!isRequested) throw new SandboxNotRequested(errorText(error), { cause: error });
    if (!isNameTaken(error)) throw error;
    noteNameTaken(attempt, context);
    throw new StartFailure("CreatePodSandboxError", errorText(error), NAME_TAKEN_RETRY_MS);
  }
}

/**
 * The name is taken for one of two reasons. Either the runtime is still creating the sandbox for a previous kubelet
 * process, and the worker adopts it once it is listed; or the runtime holds the name without a sandbox. After
 * CREATION_MS_MAX the latter is assumed, and the next attempt uses another name.
 */
function noteNameTaken(attempt: number, { state, ports }: ExecutionContext): void {
  const nowMs = ports.clock.monotonicMs();
  if (state.sandbox.nameTaken?.attempt !== attempt) state.sandbox.nameTaken = { attempt, sinceMonotonicMs: nowMs };
  if (nowMs - state.sandbox.nameTaken.sinceMonotonicMs >= CREATION_MS_MAX) state.sandbox.attemptMin = attempt + 1;
}

export async function configOfSandbox(
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
  state.containers.blockedOn.add(RUNTIME_CLASSES_KEY);
  throw new Error(answer.message);
}

export async function usersFor(pod: Pod, handler: string, context: ExecutionContext): Promise<UserNamespace> {
  if (!asksForUsers(pod)) return NODE_USERS;
  const health = context.cells.runtimeHealth.value;
  const why = whyNoUsers(health.kind === "answered" ? health.status : { handlers: [] }, handler);
  if (why !== undefined) throw new Error(why);
  return context.settings.userNamespaces.allocate(podNameOfObject(pod).uid);
}

function ownName(pod: Pod, settings: PodWorkerSettings): string {
  // With hostNetwork the pod has the node's hostname.
  if (pod.spec?.hostNetwork === true) return "";
  const name = podHostname(pod, settings.hostname);
  if (name.kind === "refused") throw new Error(name.message);
  return name.hostname;
}

function emitDnsWarnings(pod: Pod, warnings: PodDns["warnings"], { ports, settings }: ExecutionContext): void {
  const ofNode = nodeSubject(settings.nodeName);
  const ofPod = podSubject(pod);
  for (const { about, reason, message } of warnings) {
    ports.events.emit(about === "node" ? ofNode : ofPod, "Warning", reason, message);
  }
}
