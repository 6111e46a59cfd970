/** Statuses of all containers of a pod, in the lists and in the order of the API. */
import type { ContainerStatus, Pod, PodStatus } from "../../api/gen/core-v1.ts";
import {
  type ContainerSpec,
  ephemeralContainers,
  initContainers,
  isSidecar,
  regularContainers,
} from "../pod/containers.ts";
import { type ContainerStatusInputs, containerStatus, lostState } from "./container-status.ts";

export interface ContainerStatuses {
  /** Sorted by name. */
  readonly regular: readonly ContainerStatus[];
  /** In spec order. */
  readonly init: readonly ContainerStatus[];
  /** Sorted by name. */
  readonly ephemeral: readonly ContainerStatus[];
}

export function containerStatuses(inputs: ContainerStatusInputs, previous: PodStatus): ContainerStatuses {
  const { spec } = inputs.pod;
  const list = (containers: readonly ContainerSpec[], published: readonly ContainerStatus[] = []) => {
    const known = new Map(published.map((status) => [status.name, status]));
    return containers.map((containerSpec) =>
      containerStatus(containerSpec, known.get(containerSpec.container.name), inputs),
    );
  };
  return {
    regular: list(regularContainers(spec), previous.containerStatuses).sort(byName),
    init: list(initContainers(spec), previous.initContainerStatuses),
    ephemeral: list(ephemeralContainers(spec), previous.ephemeralContainerStatuses).sort(byName),
  };
}

/** Uses the API's field names. Empty lists of init and ephemeral containers are omitted. */
export const statusLists = ({ regular, init, ephemeral }: ContainerStatuses): Partial<PodStatus> => ({
  ...(init.length === 0 ? {} : { initContainerStatuses: init }),
  containerStatuses: regular,
  ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
});

/**
 * After no container may run, a container without a known exit has failed: an unobserved exit never counts as success.
 * A container that initialization never reached has not failed.
 */
export function finalStatuses(pod: Pod, statuses: ContainerStatuses): ContainerStatuses {
  const tried = Math.max(1, statuses.init.findLastIndex(hasBegun) + 1);
  return {
    ...statuses,
    regular: isInitialised(pod, statuses) ? statuses.regular.map(ended) : statuses.regular,
    init: statuses.init.map((status, place) => (place < tried ? ended(status) : status)),
  };
}

const ended = (status: ContainerStatus): ContainerStatus =>
  status.state?.terminated === undefined
    ? { ...status, ready: false, started: false, state: { terminated: lostState("terminated") } }
    : status;

const hasBegun = ({ state, lastState }: ContainerStatus): boolean =>
  state?.waiting === undefined || lastState?.terminated !== undefined;

function isInitialised({ spec }: Pod, { regular, init }: ContainerStatuses): boolean {
  const [container, status] = [spec?.initContainers?.at(-1), init.at(-1)];
  if (container === undefined || status === undefined || regular.some(hasBegun)) return true;
  if (isSidecar(container)) return status.state?.running !== undefined && status.started === true;
  return status.state?.terminated?.exitCode === 0 || status.lastState?.terminated?.exitCode === 0;
}

const byName = (a: ContainerStatus, b: ContainerStatus): number => (a.name < b.name ? -1 : 1);
