/**
 * The runtime's state of one pod, read at one moment, with the queries that all decisions use. Sandboxes belong to a
 * pod by their metadata, containers by their label; there is no other mark of ownership.
 */

import {
  CONTAINER_NAME_LABEL,
  POD_NAME_LABEL,
  POD_NAMESPACE_LABEL,
  POD_UID_LABEL,
  RESTART_COUNT,
} from "../container-config/cri-keys.ts";
import type { Container, ContainerStatus } from "../runtime/container.ts";
import type { Sandbox, SandboxStatus } from "../runtime/sandbox.ts";

export interface PodContainer extends ContainerStatus {
  readonly sandboxId: string;
}

export interface PodRuntimeView {
  readonly uid: string;
  /** Newest first. */
  readonly sandboxes: readonly SandboxStatus[];
  /** All remaining containers of every sandbox, newest first. */
  readonly containers: readonly PodContainer[];
}

/** Sandboxes and containers that runtime calls have just created for a pod. */
export interface CreatedParts {
  readonly sandboxIds: readonly string[];
  readonly containers: readonly Pick<PodContainer, "id" | "sandboxId">[];
}

export const emptyView = (uid: string): PodRuntimeView => ({ uid, sandboxes: [], containers: [] });

export const podUidOf = (container: Pick<Container, "labels">): string | undefined => container.labels[POD_UID_LABEL];

export const containerNameOf = (container: Pick<Container, "labels" | "metadata">): string =>
  container.labels[CONTAINER_NAME_LABEL] ?? container.metadata.name;

/** The pod's namespace and name as the runtime has them, for a pod that no source has. */
export function podNameOf(view: PodRuntimeView): { readonly namespace: string; readonly name: string } | undefined {
  const sandbox = view.sandboxes[0];
  if (sandbox !== undefined) return { namespace: sandbox.metadata.namespace, name: sandbox.metadata.name };
  const labels = view.containers[0]?.labels;
  const [namespace, name] = [labels?.[POD_NAMESPACE_LABEL], labels?.[POD_NAME_LABEL]];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

/** The newest instance of a container. */
export const newestOf = (view: PodRuntimeView, name: string): PodContainer | undefined =>
  view.containers.find((container) => containerNameOf(container) === name);

export const instancesOf = (view: PodRuntimeView, name: string): readonly PodContainer[] =>
  view.containers.filter((container) => containerNameOf(container) === name);

/** Whether a container may have a process. A container in an unknown state counts until it was stopped once. */
export const mayRun = ({ state }: Pick<ContainerStatus, "state">): boolean =>
  state === "running" || state === "unknown";

export const anyMayRun = (view: PodRuntimeView): boolean =>
  view.containers.some(mayRun) || view.sandboxes.some(({ state }) => state === "ready");

/**
 * Whether anything of a pod may run, by its last inspection. Without one: whether the runtime lists a sandbox of the
 * pod.
 */
export const mayRunOnNode = (
  uid: string,
  view: PodRuntimeView | undefined,
  listed: readonly Pick<Sandbox, "metadata">[],
): boolean => (view === undefined ? listed.some(({ metadata }) => metadata.uid === uid) : anyMayRun(view));

/** The next kubelet relies on the annotation. The attempt number in the name has the same value. */
export function restartCountOf(container: Pick<ContainerStatus, "annotations" | "metadata">): number {
  const text = container.annotations[RESTART_COUNT];
  const count = text === undefined || !/^\d{1,9}$/.test(text) ? Number.NaN : Number(text);
  return Number.isNaN(count) ? container.metadata.attempt : count;
}

const newestFirst = (a: Pick<Sandbox, "createdWallNs" | "id">, b: Pick<Sandbox, "createdWallNs" | "id">): number => {
  if (a.createdWallNs !== b.createdWallNs) return a.createdWallNs > b.createdWallNs ? -1 : 1;
  return a.id < b.id ? -1 : 1;
};

export function podView(
  uid: string,
  sandboxes: readonly SandboxStatus[],
  containers: readonly PodContainer[],
): PodRuntimeView {
  // The clock may have been set back between two attempts; the attempt number in the name never decreases. It orders
  // all items, because a comparison by different keys would not be transitive.
  const latestFirst = (a: SandboxStatus | PodContainer, b: SandboxStatus | PodContainer) =>
    b.metadata.attempt - a.metadata.attempt || newestFirst(a, b);
  return {
    uid,
    sandboxes: sandboxes.toSorted(latestFirst),
    containers: containers.toSorted(latestFirst),
  };
}
