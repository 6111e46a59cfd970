/** Taint effects, and the labels that a kubelet may set on its own Node. */
import { labelKeyTroubles, labelValueTroubles } from "../../base/names.ts";
import { OWN_LABELS } from "../../domain/node/node-labels.ts";

export const TAINT_EFFECTS: readonly string[] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

const KUBELET_PREFIXES = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/** Checks --node-labels: invalid labels, and labels that the API server would not let a kubelet set. */
export function nodeLabelFault(labels: Readonly<Record<string, string>>): string | undefined {
  const foreign = Object.keys(labels).filter((key) => isReserved(key) && !isKubelets(key));
  if (foreign.length > 0) {
    return (
      `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${foreign.toSorted().join(" ")}]\n` +
      `--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix (${KUBELET_PREFIXES.join(", ")}) ` +
      `or be in the specifically allowed set (${OWN_LABELS.join(", ")})`
    );
  }
  const faults = Object.entries(labels).flatMap(([key, value]) => [
    ...described(key, labelKeyTroubles(key)),
    ...described(value, labelValueTroubles(value)),
  ]);
  return faults.length > 0 ? `invalid node labels: ${faults.join("; ")}` : undefined;
}

const described = (what: string, faults: readonly string[]) =>
  faults.length > 0 ? [`'${what}' - ${faults.join(", ")}`] : [];

const within = (namespace: string, domain: string) => namespace === domain || namespace.endsWith(`.${domain}`);
const namespaceOf = (key: string) => (key.includes("/") ? key.slice(0, key.indexOf("/")) : "");
const isReserved = (key: string) => ["kubernetes.io", "k8s.io"].some((domain) => within(namespaceOf(key), domain));
const isKubelets = (key: string) =>
  OWN_LABELS.includes(key) || KUBELET_PREFIXES.some((prefix) => within(namespaceOf(key), prefix));
