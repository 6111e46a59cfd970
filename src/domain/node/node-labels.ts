/** The labels that the machine determines. */

/**
 * The labels of kubernetes.io that a kubelet may set by name. Those of the machine are reconciled at registration.
 * Sorted.
 */
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
