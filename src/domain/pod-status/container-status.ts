/** One container's status as the API shows it, from all that is known of its instances. */
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
import { everyContainer, type RoledContainer } from "../pod/every-container.ts";
import { restartsOf } from "../pod/published.ts";
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
  /** How far what it waits for is. */
  readonly progress?: string;
}

export interface ContainerStatusInputs {
  readonly pod: Pod;
  readonly view: PodRuntimeView;
  /** The name the runtime has in container ids, such as "containerd". */
  readonly runtimeName: string;
  /** Why a container that should run does not, by container name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** Those that were removed so that all are restarted, by name: the restart count they will have. */
  readonly resets?: ReadonlyMap<string, number>;
  /** Last words, by container id. */
  readonly messages: ReadonlyMap<string, string>;
  /** Whether it is said which signal asks a container to end (the gate ContainerStopSignals). */
  readonly stopSignals?: boolean;
  /** What the runtime is able to. */
  readonly recursiveReadOnly: boolean;
  /** Ids of containers that have ended by our hand and start again in a moment. */
  readonly resuming?: ReadonlySet<string>;
  /** Instances that run and are not in the view: what is due upon their start is not done. */
  readonly hidden?: readonly PodContainer[];
  /** What stood of the pod when this agent saw it first. */
  readonly found?: PodStatus | undefined;
  /** What each container was last told to have, by its name. */
  readonly actuated?: ReadonlyMap<string, ResourceRequirements>;
  /** Whether a container has been told to be ready, by container id. Without a probe, running is ready. */
  readonly ready: (container: PodContainer) => { readonly ready: boolean; readonly started: boolean };
}

export function containerStatus(
  roled: RoledContainer,
  previous: ContainerStatus | undefined,
  inputs: ContainerStatusInputs,
): ContainerStatus {
  const [newest, before] = instancesOf(inputs.view, roled.container.name);
  if (newest !== undefined && previous?.state?.running !== undefined && isResuming(newest, inputs)) {
    return resuming(previous, roled, inputs);
  }
  if (newest === undefined) return withWaiting(unseen(roled, previous, inputs), roled, inputs);
  const status: ContainerStatus = {
    ...observed(newest, roled, previous, inputs),
    ...(newest.state === "unknown" ? lost(previous) : {}),
    ...lastStateOf(before, previous, newest, inputs),
    restartCount: countOf(newest, previous, inputs),
  };
  return withWaiting(status, roled, inputs);
}

/** One is not shown while what is due upon its start is done: a count that was told of it, or of those before it, stays. */
function countOf(
  newest: PodContainer,
  previous: ContainerStatus | undefined,
  { hidden = [], found }: ContainerStatusInputs,
) {
  const [own, told] = [restartsOf(newest, found), previous?.restartCount ?? 0];
  const isTrue = hidden.some(
    (other) => containerNameOf(other) === containerNameOf(newest) && restartCountOf(other) >= told,
  );
  return isTrue && told > own ? told : own;
}

const isResuming = ({ id, state }: PodContainer, inputs: ContainerStatusInputs): boolean =>
  state === "exited" && inputs.resuming?.has(id) === true;

/** It starts again in a moment. Its end is not told: the API server lets nobody come back from a success that is not always restarted. */
function resuming(
  previous: ContainerStatus,
  { role, container }: RoledContainer,
  { waiting }: ContainerStatusInputs,
): ContainerStatus {
  const why = waiting.get(container.name);
  if (why === undefined) return previous;
  const state = { waiting: { reason: why.reason, ...said("message", whole(why)) } };
  return { ...previous, ready: false, ...(role === "ephemeral" ? {} : { started: false }), state };
}

/** What a container waits for that nothing else is said of. */
const defaultWaiting = ({ spec }: Pod): string =>
  (spec?.initContainers ?? []).length > 0 ? "PodInitializing" : "ContainerCreating";

/** No instance of it in the runtime: not yet, or not any more. */
function unseen(
  roled: RoledContainer,
  previous: ContainerStatus | undefined,
  inputs: ContainerStatusInputs,
): ContainerStatus {
  const { pod, recursiveReadOnly } = inputs;
  const { role, container } = roled;
  const restartCount = inputs.resets?.get(container.name);
  if (restartCount !== undefined) return reset(roled, restartCount, inputs);
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
  // It ran, and nobody saw it end. Said so, the pod does not fall back to Pending.
  return {
    ...status,
    restartCount: status.restartCount + (pod.metadata?.deletionTimestamp === undefined ? 1 : 0),
    lastState: { terminated: lostState("deleted") },
  };
}

/** Removed so that all are restarted, it waits for its turn. */
const reset = (
  { container }: RoledContainer,
  restartCount: number,
  inputs: ContainerStatusInputs,
): ContainerStatus => ({
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

/** Of a container that set up a pod whose other containers have been made since. */
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
  roled: RoledContainer,
  previous: ContainerStatus | undefined,
  inputs: ContainerStatusInputs,
): ContainerStatus {
  const { runtimeName } = inputs;
  const { container } = roled;
  const user = instance.user;
  return {
    name: container.name,
    image: instance.image.userSpecifiedImage || instance.image.image,
    imageID: instance.imageRef,
    containerID: `${runtimeName}://${instance.id}`,
    restartCount: restartCountOf(instance),
    ...readiness(instance, roled, inputs),
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
 * Of one that ran, and that the runtime has lost sight of: it has ended, nobody knows how. It is stopped next, whether it runs or not; an agent that comes
 * in between says the same.
 */
function lost(previous: ContainerStatus | undefined): Pick<ContainerStatus, "state"> {
  const { running, terminated } = previous?.state ?? {};
  return running === undefined && terminated === undefined ? {} : { state: { terminated: lostState("terminated") } };
}

/** One that sets up is ready when it has; one to look in with is not asked. */
function readiness(
  instance: PodContainer,
  { role }: RoledContainer,
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
              everyContainer(pod.spec).length,
            ),
          ),
          // One that could not be started never began: the Go kubelet shows the beginning of time.
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
 * What is known of the run before the newest: the instance itself, or what was published, once the runtime has let go of it or where an instance was made and
 * never started.
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

/** A container that should run but does not is waiting, and says why; its last end moves to the last state. */
function withWaiting(status: ContainerStatus, roled: RoledContainer, inputs: ContainerStatusInputs): ContainerStatus {
  const { pod, view, waiting } = inputs;
  const why = waiting.get(roled.container.name);
  const [newest] = instancesOf(view, roled.container.name);
  // Nothing of a deleted pod runs again.
  if (pod.metadata?.deletionTimestamp !== undefined) return status;
  if (why === undefined || !shouldRun(pod, roled, newest)) return status;
  return {
    ...status,
    ready: false,
    ...(roled.role === "ephemeral" ? {} : { started: false }),
    lastState: status.state?.terminated === undefined ? (status.lastState ?? {}) : status.state,
    state: { waiting: { reason: why.reason, ...said("message", whole(why)) } },
  };
}

/** What the Go kubelet would say comes first. */
const whole = ({ message, progress = "" }: WaitingReason): string =>
  [message, progress].filter((text) => text !== "").join("; ");

/** The API server leaves empty texts out. */
const said = <Name extends string>(name: Name, text: string): Partial<Record<Name, string>> =>
  text === "" ? {} : ({ [name]: text } as Record<Name, string>);

/** The API server leaves out a false. */
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

/** One that cannot be had is shown as not given; why, the container says that does not start. */
function resolvedRecursion(mount: VolumeMount, isAble: boolean): "Enabled" | "Disabled" {
  const resolved = recursiveReadOnlyOf(mount, isAble);
  return resolved.kind === "mode" && resolved.recursive ? "Enabled" : "Disabled";
}

/** What it has, and what it was allocated of what it requests. */
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
