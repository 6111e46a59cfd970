/**
 * Plans the API requests after which the API server shows each static pod exactly once, as it is. A delete names the
 * UID and a create requires our Node. So no other pod is deleted, and no pod is attributed to another node. Actions
 * that are impossible now are left to the next run.
 *
 * While a pod that no source has any longer runs, the API server still shows it: its mirror pod stays until the pod has
 * terminated. The runtime says what runs, so a kubelet that was killed meanwhile plans the same.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { OwnNode } from "../node/own-node.ts";
import type { DesiredPod, DesiredPods } from "../pod/desired-pod.ts";
import { CONFIG_HASH, CONFIG_MIRROR, fullNameOf } from "../pod/pod-identity.ts";
import { anyMayRun, type PodRuntimeView, podNameOf } from "../pod/runtime-view.ts";
import type { Sandbox } from "../runtime/sandbox.ts";

interface NodeName {
  readonly name: string;
  readonly uid: string;
}

export type MirrorAction =
  | { readonly kind: "create"; readonly fullName: string; readonly mirror: Pod }
  | {
      readonly kind: "delete";
      readonly fullName: string;
      readonly namespace: string;
      readonly name: string;
      readonly uid: string;
      readonly why: string;
    };

/** UIDs of the pods that may run on the node, by full name; undefined before the runtime's first list. */
export type RunningNames = ReadonlyMap<string, ReadonlySet<string>> | undefined;

/** A pod that is listed but not inspected yet may be running. One that just started may not be listed yet. */
export function runningNames(listed: readonly Sandbox[] | undefined, views: readonly PodRuntimeView[]): RunningNames {
  if (listed === undefined) return undefined;
  const inspected = new Set(views.map(({ uid }) => uid));
  const running = new Map<string, Set<string>>();
  const add = (metadata: { readonly name: string; readonly namespace: string } | undefined, uid: string) => {
    const fullName = fullNameOf({ metadata: metadata ?? {} });
    running.set(fullName, (running.get(fullName) ?? new Set()).add(uid));
  };
  for (const view of views) if (anyMayRun(view)) add(podNameOf(view), view.uid);
  for (const { metadata } of listed) if (!inspected.has(metadata.uid)) add(metadata, metadata.uid);
  return running;
}

export interface MirrorPlan {
  readonly actions: readonly MirrorAction[];
  /** UIDs of the running pods that another action waits for. */
  readonly awaited: ReadonlySet<string>;
}

export function planMirrors(desired: DesiredPods, node: OwnNode, running: RunningNames): MirrorPlan {
  const awaited = new Set<string>();
  if (!desired.mirrorsSeen) return { actions: [], awaited };
  const statics = staticPodsByName(desired);
  const owner = ownerOf(node);
  const actions: MirrorAction[] = [];
  for (const [fullName, ofName] of statics) {
    const earlier = running?.get(fullName) ?? new Set();
    // Of two pods with one name the running one is shown. If that one left its source, its mirror pod stays as it is.
    const shown = earlier.size === 0 ? ofName.at(-1) : ofName.find(({ uid }) => earlier.has(uid));
    const action = shown && planOne(fullName, shown.pod, desired.mirrors.get(fullName), owner);
    if (shown === undefined) for (const uid of earlier) awaited.add(uid);
    else if (action !== undefined && (running !== undefined || action.kind === "create")) actions.push(action);
  }
  if (!desired.sourcesReady || running === undefined) return { actions, awaited };
  for (const [fullName, mirror] of desired.mirrors) {
    if (statics.has(fullName)) continue;
    const left = running.get(fullName);
    if (left === undefined) actions.push(deletion(fullName, mirror, "the static pod is gone"));
    else for (const uid of left) awaited.add(uid);
  }
  return { actions, awaited };
}

function staticPodsByName({ pods }: DesiredPods): ReadonlyMap<string, readonly DesiredPod[]> {
  return Map.groupBy(
    [...pods.values()].filter(({ source }) => source !== "api"),
    ({ pod }) => fullNameOf(pod),
  );
}

function planOne(
  fullName: string,
  pod: Pod,
  mirror: Pod | undefined,
  owner: NodeName | undefined,
): MirrorAction | undefined {
  if (mirror === undefined) return owner && { kind: "create", fullName, mirror: mirrorOf(pod, owner) };
  if (mirror.metadata?.deletionTimestamp !== undefined)
    return deletion(fullName, mirror, "somebody deleted it and the static pod stays");
  const isCurrent = mirror.metadata?.annotations?.[CONFIG_MIRROR] === pod.metadata?.annotations?.[CONFIG_HASH];
  return isCurrent ? undefined : deletion(fullName, mirror, "the static pod has changed");
}

/** A Node that is being deleted gets no more mirror pods. */
function ownerOf(own: OwnNode): NodeName | undefined {
  if (own.kind !== "present") return undefined;
  const { name = "", uid = "", deletionTimestamp } = own.node.metadata ?? {};
  return uid === "" || deletionTimestamp !== undefined ? undefined : { name, uid };
}

function deletion(fullName: string, { metadata }: Pod, why: string): MirrorAction {
  const { namespace = "", name = "", uid = "" } = metadata ?? {};
  return { kind: "delete", fullName, namespace, name, uid, why };
}

/** A mirror pod as the API server accepts it from a node: bound to that node, and owned by nothing else. */
export function mirrorOf(pod: Pod, node: NodeName): Pod {
  const { name = "", namespace = "", labels, annotations = {} } = pod.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...annotations, [CONFIG_MIRROR]: annotations[CONFIG_HASH] ?? "" },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node.name, uid: node.uid, controller: true }],
    },
    ...(pod.spec === undefined ? {} : { spec: pod.spec }),
  };
}
