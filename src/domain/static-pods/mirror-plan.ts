/**
 * Plans the API requests after which the API server shows each static pod exactly once, as it is. A delete names the
 * UID and a create requires our Node. So no other pod is deleted, and no pod is attributed to another node. Actions
 * that are impossible now are left to the next run.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { OwnNode } from "../node/own-node.ts";
import type { DesiredPod, DesiredPods } from "../pod/desired-pod.ts";
import { CONFIG_HASH, CONFIG_MIRROR, fullNameOf } from "../pod/pod-identity.ts";

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

/** `ending`: the full names of static pods that still terminate. Their mirror pods stay until they are gone. */
export function planMirrors(desired: DesiredPods, node: OwnNode, ending: ReadonlySet<string>): readonly MirrorAction[] {
  if (!desired.mirrorsSeen) return [];
  const statics = new Map<string, DesiredPod>();
  for (const pod of desired.pods.values()) {
    // Of two pods with one name, the later one is shown: the earlier one is terminating.
    if (pod.source !== "api") statics.set(fullNameOf(pod.pod), pod);
  }
  const owner = ownerOf(node);
  const actions: MirrorAction[] = [];
  for (const [fullName, { pod }] of statics) {
    const mirror = desired.mirrors.get(fullName);
    if (mirror === undefined) {
      if (owner !== undefined) actions.push({ kind: "create", fullName, mirror: mirrorOf(pod, owner) });
    } else if (mirror.metadata?.deletionTimestamp !== undefined) {
      actions.push(deletion(fullName, mirror, "somebody deleted it and the static pod stays"));
    } else if (mirror.metadata?.annotations?.[CONFIG_MIRROR] !== pod.metadata?.annotations?.[CONFIG_HASH]) {
      actions.push(deletion(fullName, mirror, "the static pod has changed"));
    }
  }
  if (!desired.sourcesReady) return actions;
  for (const [fullName, mirror] of desired.mirrors) {
    if (statics.has(fullName) || ending.has(fullName)) continue;
    actions.push(deletion(fullName, mirror, "the static pod is gone"));
  }
  return actions;
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
