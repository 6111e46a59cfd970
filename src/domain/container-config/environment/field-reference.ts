/** Resolves field references to a pod, by field path: for variables of its containers and for files in its volumes. */
import type { ObjectFieldSelector, Pod } from "../../../api/gen/core-v1.ts";
import { goQuote } from "../../../base/go-text.ts";
import { labelKeyTroubles } from "../../../base/names.ts";

export type ReferredText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "refused"; readonly message: string };

/** The IPs of a pod and its node, as known while the pod's containers start. */
export interface PodPlace {
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

const text = (value: string): ReferredText => ({ kind: "text", text: value });
const refused = (message: string): ReferredText => ({ kind: "refused", message });

/** Paths that a variable may reference. Some of them are valid and still have no value. */
const PATHS = new Set([
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.restartPolicy",
  "spec.serviceAccountName",
  "spec.schedulerName",
  "status.phase",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
  "spec.host",
]);

export function variableField(
  { apiVersion, fieldPath }: ObjectFieldSelector,
  pod: Pod,
  { podIps, hostIps }: PodPlace,
): ReferredText {
  if ((apiVersion || "v1") !== "v1") return refused(`unsupported pod version: ${apiVersion}`);
  const subscripted = subscriptOf(fieldPath);
  if (subscripted !== undefined) {
    const { path } = subscripted;
    if (path === "metadata.annotations" || path === "metadata.labels") return podField(fieldPath, pod);
    return refused(`field label does not support subscript: ${fieldPath}`);
  }
  if (!PATHS.has(fieldPath)) return refused(`field label not supported: ${fieldPath}`);
  switch (fieldPath) {
    case "spec.nodeName":
    case "spec.host": // The name that the first v1 clients used.
      return text(pod.spec?.nodeName ?? "");
    case "spec.serviceAccountName":
      return text(pod.spec?.serviceAccountName ?? "");
    case "status.hostIP":
    case "status.hostIPs":
      if (hostIps[0] === undefined) return refused("host IP unknown");
      return text(fieldPath === "status.hostIP" ? hostIps[0] : hostIps.join(","));
    case "status.podIP":
      return text(podIps[0] ?? "");
    case "status.podIPs":
      return text(podIps.join(","));
    default:
      return podField(fieldPath, pod);
  }
}

/** The fields that a file in a volume may show: those of the pod's metadata. */
export function podField(fieldPath: string, { metadata }: Pod): ReferredText {
  const subscripted = subscriptOf(fieldPath);
  if (subscripted !== undefined) return ofSubscript(fieldPath, subscripted, metadata);
  switch (fieldPath) {
    case "metadata.annotations":
      return text(formatMap(metadata?.annotations ?? {}));
    case "metadata.labels":
      return text(formatMap(metadata?.labels ?? {}));
    case "metadata.name":
      return text(metadata?.name ?? "");
    case "metadata.namespace":
      return text(metadata?.namespace ?? "");
    case "metadata.uid":
      return text(metadata?.uid ?? "");
    default:
      return refused(`unsupported fieldPath: ${fieldPath}`);
  }
}

interface Subscripted {
  readonly path: string;
  readonly key: string;
}

function ofSubscript(fieldPath: string, { path, key }: Subscripted, metadata: Pod["metadata"]): ReferredText {
  if (path !== "metadata.annotations" && path !== "metadata.labels") {
    return refused(`fieldPath ${goQuote(fieldPath)} does not support subscript`);
  }
  const isLabel = path === "metadata.labels";
  const troubles = labelKeyTroubles(isLabel ? key : key.toLowerCase());
  if (troubles.length > 0) return refused(`invalid key subscript in ${fieldPath}: ${troubles.join(";")}`);
  const map = (isLabel ? metadata?.labels : metadata?.annotations) ?? {};
  return text(Object.hasOwn(map, key) ? (map[key] ?? "") : "");
}

/** Parses "metadata.labels['key']", with any key. */
function subscriptOf(fieldPath: string): Subscripted | undefined {
  const opens = fieldPath.indexOf("['");
  if (opens <= 0 || !fieldPath.endsWith("']") || opens + 4 > fieldPath.length) return undefined;
  return { path: fieldPath.slice(0, opens), key: fieldPath.slice(opens + 2, -2) };
}

/** One `key="value"` per line, sorted by key, without a newline at the end. */
export function formatMap(map: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([key, value]) => `${key}=${goQuote(value)}`).join("\n");
}
