/** Computes the API status of one container from all known instances of it. */
import type {
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  PodStatus,
  ResourceRequirements,
  VolumeMount,
} from "../../api/gen/core-v1.ts";
import { apiTimeOfNs } from "../../base/timestamp.ts";
import { sharedMessage } from "../container-config/termination-message.ts";
import { allContainers, type ContainerSpec } from "../pod/containers.ts";
import { restartsOf } from "../pod/published-status.ts";
import { RESTARTING_ALL } from "../pod/restart-all.ts";
import { KILLED_EXIT_CODE, shouldRun } from "../pod/restart-policy.ts";
import {
  containerNameOf,
  instancesOf,
  type PodContainer,
  type PodRuntimeView,
  restartCountOf,
} from "../pod/runtime-view.ts";
import { containerActual } from "../resize/actual-resources.ts";
import { recursiveReadOnlyOf } from "../volumes/container-mounts.ts";

export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
  /** How far the operation that the container waits for has progressed. */
  readonly progress?: string;
}

export interface ContainerStatusInputs {
  readonly pod: Pod;
  readonly view: PodRuntimeView;
  /** The runtime's name as used in container IDs, for example "containerd". */
  readonly runtimeName: string;
  /** Why a container that should run is not running, by container name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** For containers removed for RestartAllContainers, by name: the restart count of the next instance. */
  readonly resets?: ReadonlyMap<string, number>;
  /** Termination messages, by container ID. */
  readonly messages: ReadonlyMap<string, string>;
  /** Whether to report each container's stop signal (feature gate ContainerStopSignals). */
  readonly stopSignals?: boolean;
  /** Whether the runtime supports recursive read-only mounts. */
  readonly recursiveReadOnly: boolean;
  /** IDs of containers that Deckhand stopped and restarts shortly. */
  readonly restarting?: ReadonlySet<string>;
  /** Running instances left out of `view` because their postStart hook has not finished. */
  readonly hidden?: readonly PodContainer[];
  /** The pod's status when this kubelet process first observed the pod. */
  readonly initialStatus?: PodStatus | undefined;
  /** The resources last set on each container, by container name. */
  readonly actuated?: ReadonlyMap<string, ResourceRequirements>;
  /** Readiness of a container instance. Without a probe, a running container is ready. */
  readonly ready: (container: PodContainer) => { readonly ready: boolean; readonly started: boolean };
}

export function containerStatus(
  containerSpec: ContainerSpec,
  previous: ContainerStatus | undefined,
  inputs: ContainerStatusInputs,
): ContainerStatus {
  const [newest, before] = instancesOf(inputs.view, containerSpec.container.name);
  if (newest !== undefined && previous?.state?.running !== undefined && isRestarting(newest, inputs)) {
    return restarting(previous, containerSpec, inputs);
  }
  if (newest === undefined) return withWaiting(unseen(containerSpec, previous, inputs), containerSpec, inputs);
  const status: ContainerStatus = {
    ...observed(newest, containerSpec, previous, inputs),
    ...(newest.state === "unknown" ? lost(previous) : {}),
    ...lastStateOf(before, previous, newest, inputs),
    restartCount: countOf(newest, previous, inputs),
  };
  return withWaiting(status, containerSpec, inputs);
}

/**
 * An instance is hidden until its postStart hook finishes. Meanwhile a restart count published for that instance, or
 * for an earlier one, stays.
 */
function countOf(
  newest: PodContainer,
  previous: ContainerStatus | undefined,
  { hidden = [], initialStatus }: ContainerStatusInputs,
) {
  const [own, reported] = [restartsOf(newest, initialStatus), previous?.restartCount ?? 0];
  const isTrue = hidden.some(
    (other) => containerNameOf(other) === containerNameOf(newest) && restartCountOf(other) >= reported,
  );
  return isTrue && reported > own ? reported : own;
}

const isRestarting = ({ id, state }: PodContainer, inputs: ContainerStatusInputs): boolean =>
  state === "exited" && inputs.restarting?.has(id) === true;

/**
 * The container restarts shortly, so its exit is not published. The API server rejects leaving a successful termination
 * unless the container always restarts.
 */
function restarting(
  previous: ContainerStatus,
  { role, container }: ContainerSpec,
  { waiting }: ContainerStatusInputs,
): ContainerStatus {
  const why = waiting.get(container.name);
  if (why === undefined) return previous;
  const state = { waiting: { reason: why.reason, ...said("message", whole(why)) } };
  return { ...previous, ready: false, ...(role === "ephemeral" ? {} : { started: false }), state };
}

/** The waiting reason of a container for which no other reason is known. */
const defaultWaiting = ({ spec }: Pod): string =>
  (spec?.initContainers ?? []).length > 0 ? "PodInitializing" : "ContainerCreating";

/** Status of a container without an instance in the runtime: not created yet, or already removed. */
function unseen(
  containerSpec: ContainerSpec,
  previous: ContainerStatus | undefined,
  inputs: ContainerStatusInputs,
): ContainerStatus {
  const { pod, recursiveReadOnly } = inputs;
  const { role, container } = containerSpec;
  const restartCount = inputs.resets?.get(container.name);
  if (restartCount !== undefined) return reset(containerSpec, restartCount, inputs);
  if (previous?.state?.terminated !== undefined) return previous;
  const hasSetUp = role === "init" && anyRegular(inputs);
  const status: ContainerStatus = {
    name: container.name,
    image: container.image ?? "",
    imageID: "",
    ready: hasSetUp,
    ...(role === "ephemeral" ? {} : { started: false }),
    restartCount: previous?.restartCount ?? 0,
    state: hasSetUp ? { terminated: FORGOTTEN_SUCCESS } : { waiting: { reason: defaultWaiting(pod) } },
    lastState: previous?.lastState ?? {},
    ...volumeMountsOf(container, recursiveReadOnly),
  };
  if (hasSetUp || previous?.state?.running === undefined || previous.lastState?.terminated !== undefined) return status;
  // The container ran, and its exit was not observed. This last state keeps the pod from falling back to Pending.
  return {
    ...status,
    restartCount: status.restartCount + (pod.metadata?.deletionTimestamp === undefined ? 1 : 0),
    lastState: { terminated: lostState("deleted") },
  };
}

/** Status of a container that was removed for RestartAllContainers and waits to start again. */
const reset = ({ container }: ContainerSpec, restartCount: number, inputs: ContainerStatusInputs): ContainerStatus => ({
  name: container.name,
  image: container.image ?? "",
  imageID: "",
  ready: false,
  started: false,
  restartCount,
  state: { waiting: RESTARTING_ALL },
  lastState: { terminated: { exitCode: KILLED_EXIT_CODE, ...RESTARTING_ALL } },
  ...volumeMountsOf(container, inputs.recursiveReadOnly),
});

/** State of an init container that the runtime no longer has, although regular containers were created after it. */
const FORGOTTEN_SUCCESS = {
  exitCode: 0,
  reason: "Completed",
  message:
    "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
} as const;

const anyRegular = ({ pod, view }: ContainerStatusInputs): boolean =>
  (pod.spec?.containers ?? []).some(({ name }) => instancesOf(view, name).length > 0);

export const lostState = (when: "deleted" | "terminated") => ({
  exitCode: KILLED_EXIT_CODE,
  reason: "ContainerStatusUnknown",
  message:
    when === "deleted"
      ? "The container could not be located when the pod was deleted.  The container used to be Running"
      : "The container could not be located when the pod was terminated",
});

function observed(
  instance: PodContainer,
  containerSpec: ContainerSpec,
  previous: ContainerStatus | undefined,
  inputs: ContainerStatusInputs,
): ContainerStatus {
  const { runtimeName } = inputs;
  const { container } = containerSpec;
  const user = instance.user;
  return {
    name: container.name,
    image: instance.image.userSpecifiedImage || instance.image.image,
    imageID: instance.imageRef,
    containerID: `${runtimeName}://${instance.id}`,
    restartCount: restartCountOf(instance),
    ...readiness(instance, containerSpec, inputs),
    state: stateOf(instance, inputs),
    ...resourcesOf(container, instance, previous, inputs.actuated?.get(container.name)),
    ...volumeMountsOf(container, inputs.recursiveReadOnly),
    ...(inputs.stopSignals === true && instance.stopSignal !== undefined ? { stopSignal: instance.stopSignal } : {}),
    ...(user === undefined
      ? {}
      : {
          user: {
            linux: {
              uid: Number(user.uid),
              gid: Number(user.gid),
              supplementalGroups: user.supplementalGroups.map(Number),
            },
          },
        }),
  };
}

/**
 * For a container that ran and whose state the runtime does not know: it has terminated with an unknown exit code. It
 * is stopped next, whether it runs or not. A kubelet process that starts in between publishes the same.
 */
function lost(previous: ContainerStatus | undefined): Pick<ContainerStatus, "state"> {
  const { running, terminated } = previous?.state ?? {};
  return running === undefined && terminated === undefined ? {} : { state: { terminated: lostState("terminated") } };
}

/** Init containers are ready once they succeed; ephemeral containers have no readiness. */
function readiness(
  instance: PodContainer,
  { role }: ContainerSpec,
  inputs: ContainerStatusInputs,
): Pick<ContainerStatus, "ready" | "started"> {
  const { state, exitCode } = instance;
  if (role === "ephemeral") return { ready: false };
  if (role === "init") return { ready: state === "exited" && exitCode === 0, started: state === "running" };
  return inputs.ready(instance);
}

function stateOf(instance: PodContainer, { pod, runtimeName, messages }: ContainerStatusInputs): ContainerState {
  switch (instance.state) {
    case "running":
      return { running: { startedAt: apiTimeOfNs(instance.startedWallNs ?? instance.createdWallNs) } };
    case "exited":
      return {
        terminated: {
          exitCode: instance.exitCode,
          ...said("reason", instance.reason),
          ...said(
            "message",
            sharedMessage(
              [instance.message, messages.get(instance.id) ?? ""].filter((text) => text !== "").join(": "),
              allContainers(pod.spec).length,
            ),
          ),
          // A container that could not be started has no start time. The Go kubelet shows the Unix epoch.
          startedAt: apiTimeOfNs(instance.startedWallNs ?? 0n),
          finishedAt: apiTimeOfNs(instance.finishedWallNs ?? 0n),
          containerID: `${runtimeName}://${instance.id}`,
        },
      };
    case "created":
    case "unknown":
      return { waiting: { reason: defaultWaiting(pod) } };
  }
}

/**
 * The state of the run before the newest instance. It comes from the earlier instance if that one has exited. Otherwise
 * it comes from the published status: the runtime has removed the instance, or an instance was created and never
 * started.
 */
function lastStateOf(
  before: PodContainer | undefined,
  previous: ContainerStatus | undefined,
  newest: PodContainer,
  inputs: ContainerStatusInputs,
): Pick<ContainerStatus, "lastState"> {
  if (before?.state === "exited") return { lastState: stateOf(before, inputs) };
  const published = `${inputs.runtimeName}://${newest.id}`;
  if (previous === undefined) return { lastState: {} };
  if (previous.containerID === published) return { lastState: previous.lastState ?? {} };
  return { lastState: previous.state?.terminated === undefined ? (previous.lastState ?? {}) : previous.state };
}

/** A container that should run but does not is Waiting, with a reason. Its last termination moves to lastState. */
function withWaiting(
  status: ContainerStatus,
  containerSpec: ContainerSpec,
  inputs: ContainerStatusInputs,
): ContainerStatus {
  const { pod, view, waiting } = inputs;
  const why = waiting.get(containerSpec.container.name);
  const [newest] = instancesOf(view, containerSpec.container.name);
  // Containers of a deleted pod do not run again.
  if (pod.metadata?.deletionTimestamp !== undefined) return status;
  if (why === undefined || !shouldRun(pod, containerSpec, newest)) return status;
  return {
    ...status,
    ready: false,
    ...(containerSpec.role === "ephemeral" ? {} : { started: false }),
    lastState: status.state?.terminated === undefined ? (status.lastState ?? {}) : status.state,
    state: { waiting: { reason: why.reason, ...said("message", whole(why)) } },
  };
}

/** The Go kubelet's text comes first. */
const whole = ({ message, progress = "" }: WaitingReason): string =>
  [message, progress].filter((text) => text !== "").join("; ");

/** The API server omits empty strings. */
const said = <Name extends string>(name: Name, text: string): Partial<Record<Name, string>> =>
  text === "" ? {} : ({ [name]: text } as Record<Name, string>);

/** The API server omits `readOnly: false`. */
function volumeMountsOf(
  { volumeMounts = [] }: Container,
  recursiveReadOnly: boolean,
): Pick<ContainerStatus, "volumeMounts"> {
  if (volumeMounts.length === 0) return {};
  return {
    volumeMounts: volumeMounts.map((mount) => ({
      name: mount.name,
      mountPath: mount.mountPath,
      ...(mount.readOnly === true
        ? { readOnly: true, recursiveReadOnly: resolvedRecursion(mount, recursiveReadOnly) }
        : {}),
    })),
  };
}

/**
 * A mode that the runtime does not support is reported as Disabled. The start error of the container gives the reason.
 */
function resolvedRecursion(mount: VolumeMount, isAble: boolean): "Enabled" | "Disabled" {
  const resolved = recursiveReadOnlyOf(mount, isAble);
  return resolved.kind === "mode" && resolved.recursive ? "Enabled" : "Disabled";
}

/** The container's actual resources, and the requests allocated to it. */
function resourcesOf(
  { resources = {} }: Container,
  instance: PodContainer,
  previous: ContainerStatus | undefined,
  actuated: ResourceRequirements | undefined,
): Pick<ContainerStatus, "resources" | "allocatedResources"> {
  const { claims: _, ...allocated } = resources;
  return {
    resources: containerActual(allocated, instance, previous, actuated),
    ...(resources.requests === undefined ? {} : { allocatedResources: resources.requests }),
  };
}
