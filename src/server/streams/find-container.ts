/**
 * Whom a request of the streaming kind is about: a pod that this node was given and a container of it that runs, by the names in the path.
 * What is missing is refused with the status and the words of the Go kubelet.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadTable } from "../../concurrency/latest-table.ts";
import type { DesiredPod, DesiredPods } from "../../domain/pod/desired-pod.ts";
import { containerNamed } from "../../domain/pod/every-container.ts";
import { fullNameOf } from "../../domain/pod/pod-identity.ts";
import { containerNameOf, type PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import { Refusal } from "../route.ts";

/** Where it is known which pods there are and what runs of them. */
export interface KnownPods {
  readonly desiredPods: Pick<Latest<DesiredPods>, "value">;
  readonly podRuntimeStatus: Pick<ReadTable<string, PodRuntimeView>, "get">;
}

export interface PodParts {
  readonly namespace: string;
  readonly pod: string;
  /** Empty: whichever has the name. */
  readonly uid: string;
  /** Empty where the path has none. */
  readonly container: string;
}

export const podParts = (parts: Readonly<Record<string, string>>): PodParts => ({
  namespace: parts["namespace"] ?? "",
  pod: parts["pod"] ?? "",
  uid: parts["uid"] ?? "",
  container: parts["container"] ?? "",
});

/**
 * Of two with one name the newer: the older is on its way out, and found by its UID only. A UID that none of them has is not held against the
 * asker, as in the Go kubelet; where it is, that is the verb's to say.
 */
export function findPod(known: KnownPods, { namespace, pod, uid }: PodParts): DesiredPod {
  const all = [...known.desiredPods.value.pods.values()].filter(
    ({ pod: { metadata } }) => metadata?.name === pod && metadata.namespace === namespace,
  );
  const newest = all.at(-1);
  if (newest === undefined) throw new Refusal(404, "pod does not exist");
  return all.find((one) => one.uid === ownUid(known, uid)) ?? newest;
}

/** The UID under which this node runs it: a static pod is known to the API server by that of its mirror. */
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

/** The id of the container that runs under this name; undefined when none does. */
export function runningContainer(known: KnownPods, { uid }: DesiredPod, { container }: PodParts): string | undefined {
  const view = known.podRuntimeStatus.get(uid);
  return view?.containers.find((one) => one.state === "running" && containerNameOf(one) === container)?.id;
}

/** The newest sandbox of a pod of which anything runs. */
export function runningSandbox(known: KnownPods, { uid }: DesiredPod): string | undefined {
  const view = known.podRuntimeStatus.get(uid);
  const runs =
    view?.containers.some(({ state }) => state === "running") || view?.sandboxes.some(({ state }) => state === "ready");
  return runs === true ? view?.sandboxes[0]?.id : undefined;
}

/** Of any kind: ordinary, initialising or added for debugging. */
export const containerSpec = ({ spec }: Pod, name: string): Pick<Container, "tty"> | undefined =>
  containerNamed(spec, name)?.container;
