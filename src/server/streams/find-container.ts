/**
 * Finds the target of a streaming request: a pod of this node and its running container, by the names in the path. A
 * missing target is rejected with the Go kubelet's status and text.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import { containerNamed } from "../../domain/pod/containers.ts";
import type { DesiredPod, DesiredPods } from "../../domain/pod/desired-pod.ts";
import { fullNameOf } from "../../domain/pod/pod-identity.ts";
import { containerNameOf, type PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import { HttpError } from "../route.ts";

/** The known pods, and what the runtime runs of them. */
export interface KnownPods {
  readonly desiredPods: Pick<Latest<DesiredPods>, "value">;
  readonly podRuntimeStatus: Pick<ReadonlyTable<string, PodRuntimeView>, "get">;
}

export interface PodParts {
  readonly namespace: string;
  readonly pod: string;
  /** Empty: any pod with this name. */
  readonly uid: string;
  /** Empty if the path has none. */
  readonly container: string;
}

export const podParts = (parts: Readonly<Record<string, string>>): PodParts => ({
  namespace: parts["namespace"] ?? "",
  pod: parts["pod"] ?? "",
  uid: parts["uid"] ?? "",
  container: parts["container"] ?? "",
});

/**
 * Of two pods with the same name, the newer one: the older is terminating and is found by its UID only. As in the Go
 * kubelet, an unknown UID is ignored here; the verbs that reject it call `hasUid`.
 */
export function findPod(known: KnownPods, { namespace, pod, uid }: PodParts): DesiredPod {
  const all = [...known.desiredPods.value.pods.values()].filter(
    ({ pod: { metadata } }) => metadata?.name === pod && metadata.namespace === namespace,
  );
  const newest = all.at(-1);
  if (newest === undefined) throw new HttpError(404, "pod does not exist");
  return all.find((one) => one.uid === ownUid(known, uid)) ?? newest;
}

/** This node's own UID of the pod: the API server knows a static pod by the UID of its mirror pod. */
function ownUid({ desiredPods }: KnownPods, uid: string): string {
  for (const [fullName, mirror] of desiredPods.value.mirrors) {
    if (mirror.metadata?.uid !== uid) continue;
    for (const desired of desiredPods.value.pods.values()) {
      if (desired.source !== "api" && fullNameOf(desired.pod) === fullName) return desired.uid;
    }
  }
  return uid;
}

export const hasUid = (known: KnownPods, found: DesiredPod, uid: string): boolean =>
  uid === "" || found.uid === ownUid(known, uid);

/** The ID of the running container with this name; undefined if none runs. */
export function runningContainer(known: KnownPods, { uid }: DesiredPod, { container }: PodParts): string | undefined {
  const view = known.podRuntimeStatus.get(uid);
  return view?.containers.find((one) => one.state === "running" && containerNameOf(one) === container)?.id;
}

/** The newest sandbox of a pod that has anything running. */
export function runningSandbox(known: KnownPods, { uid }: DesiredPod): string | undefined {
  const view = known.podRuntimeStatus.get(uid);
  const runs =
    view?.containers.some(({ state }) => state === "running") || view?.sandboxes.some(({ state }) => state === "ready");
  return runs === true ? view?.sandboxes[0]?.id : undefined;
}

/** Any container: regular, init or ephemeral. */
export const containerSpec = ({ spec }: Pod, name: string): Pick<Container, "tty"> | undefined =>
  containerNamed(spec, name)?.container;
