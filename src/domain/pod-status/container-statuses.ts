/** The statuses of all containers of a pod, in the lists and in the order in which the API shows them. */
import type { ContainerStatus, Pod, PodStatus } from "../../api/gen/core-v1.ts";
import {
  ephemeralContainers,
  initContainers,
  isSidecar,
  type RoledContainer,
  regularContainers,
} from "../pod/every-container.ts";
import { type ContainerStatusInputs, containerStatus, lostState } from "./container-status.ts";

export interface ContainerStatuses {
  /** By name. */
  readonly regular: readonly ContainerStatus[];
  /** In the order of the spec. */
  readonly init: readonly ContainerStatus[];
  /** By name. */
  readonly ephemeral: readonly ContainerStatus[];
}

export function containerStatuses(inputs: ContainerStatusInputs, previous: PodStatus): ContainerStatuses {
  const { spec } = inputs.pod;
  const list = (containers: readonly RoledContainer[], published: readonly ContainerStatus[] = []) => {
    const known = new Map(published.map((status) => [status.name, status]));
    return containers.map((roled) => containerStatus(roled, known.get(roled.container.name), inputs));
  };
  return {
    regular: list(regularContainers(spec), previous.containerStatuses).sort(byName),
    init: list(initContainers(spec), previous.initContainerStatuses),
    ephemeral: list(ephemeralContainers(spec), previous.ephemeralContainerStatuses).sort(byName),
  };
}

/** As the API names the lists. One that has nothing to say is left out. */
export const statusLists = ({ regular, init, ephemeral }: ContainerStatuses): Partial<PodStatus> => ({
  ...(init.length === 0 ? {} : { initContainerStatuses: init }),
  containerStatuses: regular,
  ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
});

/**
 * Once nothing may run any more, a container whose end is unknown has failed: never a success that nobody saw. One that was never reached, because
 * setting up did not get so far, has not.
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
