/**
 * Converts a manifest to the pod that this node runs: named after the node, bound to it, and with defaults. A pod that
 * cannot run without an API server is refused. Its UID is left open, because it depends on what is already running
 * (static-pod-uid.ts).
 */
import type { Pod, Toleration } from "../../api/gen/core-v1.ts";
import { canonicalJson } from "../../base/canonical-json.ts";
import { fnv1a128 } from "../../base/fnv.ts";
import { utf8Bytes } from "../../base/utf8.ts";
import { CONFIG_HASH } from "../pod/pod-identity.ts";
import { decodePod } from "./decode-pod.ts";
import { defaultPod } from "./static-pod-defaults.ts";
import { apiReferenceOf } from "./static-pod-references.ts";
import { podErrors } from "./static-pod-validation.ts";

export type ManifestOrigin =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "http"; readonly url: string };

/** A manifest that may run on this node. */
export interface StaticManifest {
  readonly origin: ManifestOrigin;
  /** Complete except for metadata.uid and the hash annotation, unless the manifest itself has a UID. */
  readonly pod: Pod;
  /**
   * The hash of the manifest's content, independent of its formatting and of our defaults: new defaults do not change
   * it.
   */
  readonly contentHash: string;
  /** The UID that the pod has if nothing requires another one: 32 hexadecimal digits. */
  readonly ownUid: string;
}

export type PreparedManifest =
  | { readonly kind: "ok"; readonly manifest: StaticManifest }
  | { readonly kind: "refused"; readonly reason: string };

/** 32 hexadecimal digits. */
const hashOf = (text: string) => fnv1a128(utf8Bytes(text)).toString(16).padStart(32, "0");

export const originText = (origin: ManifestOrigin) =>
  origin.kind === "file" ? `file:${origin.path}` : `url:${origin.url}`;

export function prepareManifest(parsed: unknown, origin: ManifestOrigin, nodeName: string): PreparedManifest {
  const decoded = decodePod(parsed);
  if (decoded.kind === "refused") return decoded;
  const { status: _, ...stated } = decoded.value;
  const name = stated.metadata?.name ?? "";
  if (name === "") return { kind: "refused", reason: "invalid pod: name is needed for the pod" };
  // A file belongs to one node. A URL serves many nodes and gives each the same pod.
  const owner = origin.kind === "file" ? `host:${nodeName}` : "";
  const pod = placed(defaultPod(stated), origin, nodeName);
  const errors = podErrors(pod);
  if (errors.length > 0) return { kind: "refused", reason: `invalid pod: [${errors.join(" ")}]` };
  const reference = apiReferenceOf(pod);
  if (reference !== undefined) return { kind: "refused", reason: `static pods may not reference ${reference}` };
  const contentHash = hashOf(canonicalJson(stated));
  const ownUid = hashOf(`${contentHash}${owner}${originText(origin)}`);
  return { kind: "ok", manifest: { origin, pod, contentHash, ownUid } };
}

function placed(pod: Pod, origin: ManifestOrigin, nodeName: string): Pod {
  const spec = pod.spec ?? { containers: [] };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      name: `${pod.metadata?.name ?? ""}-${nodeName.toLowerCase()}`,
      namespace: pod.metadata?.namespace || "default",
    },
    spec: {
      ...spec,
      nodeName,
      ...(origin.kind === "file" ? { tolerations: tolerant(spec.tolerations ?? []) } : {}),
    },
    status: { phase: "Pending" },
  };
}

const EVICTED_BY_NOBODY: Toleration = { operator: "Exists", effect: "NoExecute" };

/** No taint of the node may evict a pod that only this node runs. */
function tolerant(tolerations: readonly Toleration[]): readonly Toleration[] {
  const isSame = ({ key = "", operator, value = "", effect }: Toleration) =>
    key === "" && operator === "Exists" && value === "" && effect === "NoExecute";
  if (!tolerations.some(isSame)) return [...tolerations, EVICTED_BY_NOBODY];
  return tolerations.map((toleration) => (isSame(toleration) ? EVICTED_BY_NOBODY : toleration));
}

/** The pod with its UID and hash annotation, as the other loops use it. */
export function identified({ pod }: StaticManifest, uid: string, configHash: string): Pod {
  const annotations = { ...pod.metadata?.annotations, [CONFIG_HASH]: configHash };
  return { ...pod, metadata: { ...pod.metadata, uid, annotations } };
}
