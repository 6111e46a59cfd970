/**
 * Container exits from the journal, for containers that the runtime no longer has: they cannot be read again. They
 * complete the published status. They never replace a container that the runtime still lists.
 */
import { CONTAINER_NAME_LABEL, RESTART_COUNT } from "../container-config/cri-keys.ts";
import { newestOf, type PodContainer, type PodRuntimeView } from "./runtime-view.ts";

export interface KnownExit {
  readonly containerId: string;
  readonly exitCode: number;
  readonly reason: string;
  readonly startedWallNs: bigint;
  readonly finishedWallNs: bigint;
  readonly restartCount: number;
  /** The container was removed for RestartAllContainers: its exit does not affect its next run. */
  readonly wasReset?: boolean;
}

export function withKnownExits(view: PodRuntimeView, exits: ReadonlyMap<string, KnownExit>): PodRuntimeView {
  const forgotten = [...exits].filter(
    ([name, { wasReset }]) => wasReset !== true && newestOf(view, name) === undefined,
  );
  if (forgotten.length === 0) return view;
  return { ...view, containers: [...view.containers, ...forgotten.map(([name, exit]) => remembered(name, exit))] };
}

/** For containers that were removed and not yet created again, by name: the restart count of the next instance. */
export const resetsOf = (view: PodRuntimeView, exits: ReadonlyMap<string, KnownExit>): ReadonlyMap<string, number> =>
  new Map(
    [...exits].flatMap(([name, { wasReset, restartCount }]) =>
      wasReset === true && newestOf(view, name) === undefined ? [[name, restartCount + 1] as const] : [],
    ),
  );

const remembered = (name: string, exit: KnownExit): PodContainer => ({
  id: exit.containerId,
  sandboxId: "",
  metadata: { name, attempt: exit.restartCount },
  state: "exited",
  createdWallNs: exit.startedWallNs,
  startedWallNs: exit.startedWallNs,
  finishedWallNs: exit.finishedWallNs,
  exitCode: exit.exitCode,
  reason: exit.reason,
  message: "",
  image: { image: "" },
  imageRef: "",
  imageId: "",
  labels: { [CONTAINER_NAME_LABEL]: name },
  annotations: { [RESTART_COUNT]: String(exit.restartCount) },
  mounts: [],
  logPath: "",
});
