/** Which labels a node carries from its start, and which ones it may not give itself. */

const ALLOWED_NAMESPACES = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/** Kept equal to the machine's own on a Node that exists already. Sorted. */
export const OWN_LABELS: readonly string[] = [
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "kubernetes.io/arch",
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
];

export function machineLabels(hostname: string, architecture: string): Readonly<Record<string, string>> {
  return {
    "beta.kubernetes.io/arch": architecture,
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": architecture,
    "kubernetes.io/hostname": hostname,
    "kubernetes.io/os": "linux",
  };
}

/** Why the agent must not start with these labels of the operator's, or undefined. */
export function labelsRefused(labels: Readonly<Record<string, string>>): string | undefined {
  const unknown = Object.keys(labels).filter((key) => ofKubernetes(key) && !ofNodes(key));
  if (unknown.length === 0) return undefined;
  return (
    `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${unknown.sort().join(" ")}]\n` +
    "--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix " +
    `(${ALLOWED_NAMESPACES.join(", ")}) or be in the specifically allowed set (${OWN_LABELS.join(", ")})`
  );
}

const namespaceOf = (key: string) => (key.includes("/") ? key.slice(0, key.indexOf("/")) : "");
const within = (namespace: string, parent: string) => namespace === parent || namespace.endsWith(`.${parent}`);
const ofKubernetes = (key: string) => ["kubernetes.io", "k8s.io"].some((parent) => within(namespaceOf(key), parent));
const ofNodes = (key: string) =>
  OWN_LABELS.includes(key) || ALLOWED_NAMESPACES.some((parent) => within(namespaceOf(key), parent));
