/** One container's status as the API shows it, from all that is known of its instances. */
import type { Container, ContainerState, ContainerStatus, Pod } from "../../api/gen/core-v1.ts";
import { apiTimeOfNs } from "../../base/timestamp.ts";
import { restartPolicyOf, shouldRun } from "../pod/restart-policy.ts";
import { instancesOf, type PodContainer, type PodRuntimeView, restartCountOf } from "../pod/runtime-view.ts";
import { sharedMessage } from "../pod/termination-message.ts";

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
  /** Last words, by container id. */
  readonly messages: ReadonlyMap<string, string>;
  /** Whether a container has been told to be ready, by container id. Without a probe, running is ready. */
  readonly ready: (container: PodContainer) => { readonly ready: boolean; readonly started: boolean };
}

const DEFAULT_WAITING = "ContainerCreating";
/** The exit code of a container whose end nobody saw. */
const UNKNOWN_EXIT_CODE = 137;

export function containerStatus(
  container: Container,
  previous: ContainerStatus | undefined,
  inputs: ContainerStatusInputs,
): ContainerStatus {
  const { pod, view } = inputs;
  const [newest, before] = instancesOf(view, container.name);
  if (newest === undefined) return withWaiting(unseen(container, previous, pod), container, inputs);
  const status: ContainerStatus = {
    ...observed(newest, container, inputs),
    ...lastStateOf(before, previous, newest, inputs),
  };
  return withWaiting(status, container, inputs);
}

/** No instance of it in the runtime: not yet, or not any more. */
function unseen(container: Container, previous: ContainerStatus | undefined, pod: Pod): ContainerStatus {
  if (previous?.state?.terminated !== undefined) return previous;
  const status: ContainerStatus = {
    name: container.name,
    image: container.image ?? "",
    imageID: "",
    ready: false,
    started: false,
    restartCount: previous?.restartCount ?? 0,
    state: { waiting: { reason: DEFAULT_WAITING } },
    lastState: previous?.lastState ?? {},
    ...resourcesOf(container),
  };
  if (previous?.state?.running === undefined || previous.lastState?.terminated !== undefined) return status;
  // It ran, and nobody saw it end. Said so, the pod does not fall back to Pending.
  return {
    ...status,
    restartCount: status.restartCount + (pod.metadata?.deletionTimestamp === undefined ? 1 : 0),
    lastState: { terminated: lostState("deleted") },
  };
}

export const lostState = (when: "deleted" | "terminated") => ({
  exitCode: UNKNOWN_EXIT_CODE,
  reason: "ContainerStatusUnknown",
  message:
    when === "deleted"
      ? "The container could not be located when the pod was deleted.  The container used to be Running"
      : "The container could not be located when the pod was terminated",
});

function observed(instance: PodContainer, container: Container, inputs: ContainerStatusInputs): ContainerStatus {
  const { runtimeName } = inputs;
  const user = instance.user;
  return {
    name: container.name,
    image: instance.image.userSpecifiedImage || instance.image.image,
    imageID: instance.imageRef,
    containerID: `${runtimeName}://${instance.id}`,
    restartCount: restartCountOf(instance),
    ...inputs.ready(instance),
    state: stateOf(instance, inputs),
    ...resourcesOf(container),
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
              pod.spec?.containers.length ?? 1,
            ),
          ),
          ...(instance.startedWallNs === undefined ? {} : { startedAt: apiTimeOfNs(instance.startedWallNs) }),
          ...(instance.finishedWallNs === undefined ? {} : { finishedAt: apiTimeOfNs(instance.finishedWallNs) }),
          containerID: `${runtimeName}://${instance.id}`,
        },
      };
    case "created":
    case "unknown":
      return { waiting: { reason: DEFAULT_WAITING } };
  }
}

/** What is known of the run before the newest: the instance itself, or, once the runtime has let go of it, what was published. */
function lastStateOf(
  before: PodContainer | undefined,
  previous: ContainerStatus | undefined,
  newest: PodContainer,
  inputs: ContainerStatusInputs,
): Pick<ContainerStatus, "lastState"> {
  if (before !== undefined) return { lastState: stateOf(before, inputs) };
  const published = `${inputs.runtimeName}://${newest.id}`;
  if (previous === undefined) return { lastState: {} };
  if (previous.containerID === published) return { lastState: previous.lastState ?? {} };
  return { lastState: previous.state?.terminated === undefined ? (previous.lastState ?? {}) : previous.state };
}

/** A container that should run but does not is waiting, and says why; its last end moves to the last state. */
function withWaiting(status: ContainerStatus, container: Container, inputs: ContainerStatusInputs): ContainerStatus {
  const { pod, view, waiting } = inputs;
  const why = waiting.get(container.name);
  const [newest] = instancesOf(view, container.name);
  if (why === undefined || !shouldRun(restartPolicyOf(pod), newest)) return status;
  return {
    ...status,
    ready: false,
    started: false,
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

function resourcesOf({ resources }: Container): Pick<ContainerStatus, "resources" | "allocatedResources"> {
  const { limits, requests } = resources ?? {};
  return {
    resources: { ...(limits === undefined ? {} : { limits }), ...(requests === undefined ? {} : { requests }) },
    ...(requests === undefined ? {} : { allocatedResources: requests }),
  };
}
