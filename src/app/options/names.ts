/** The API's rules for names that the configuration holds: label keys and values, and taints. */
const NAME_PART = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

const NAME_FORM =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN_FORM =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY_FORM =
  "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const VALUE_FORM =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const tooLong = (max: number) => `must be no more than ${max} bytes`;

/** What is wrong with it as the key of a label or taint. */
export function labelKeyFaults(key: string): readonly string[] {
  const [first = "", second, ...more] = key.split("/");
  if (more.length > 0) return [KEY_FORM];
  if (second === undefined) return namePartFaults(first);
  const prefix = first === "" ? ["prefix part must be non-empty"] : prefixFaults(first);
  return [...prefix, ...namePartFaults(second)];
}

function prefixFaults(prefix: string): readonly string[] {
  const faults = prefix.length > 253 ? [tooLong(253)] : [];
  return [...faults, ...(SUBDOMAIN.test(prefix) ? [] : [SUBDOMAIN_FORM])].map((fault) => `prefix part ${fault}`);
}

function namePartFaults(name: string): readonly string[] {
  if (name === "") return ["name part must be non-empty", `name part ${NAME_FORM}`];
  const faults = name.length > 63 ? [`name part ${tooLong(63)}`] : [];
  return NAME_PART.test(name) ? faults : [...faults, `name part ${NAME_FORM}`];
}

export function labelValueFaults(value: string): readonly string[] {
  const faults = value.length > 63 ? [tooLong(63)] : [];
  return value === "" || NAME_PART.test(value) ? faults : [...faults, VALUE_FORM];
}

export const TAINT_EFFECTS: readonly string[] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

const KUBELET_PREFIXES = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const KUBELET_LABELS = [
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

/** What a kubelet may not say of itself, since the API server would refuse it. */
export function nodeLabelFault(labels: Readonly<Record<string, string>>): string | undefined {
  const foreign = Object.keys(labels).filter((key) => isReserved(key) && !isKubelets(key));
  if (foreign.length > 0) {
    return (
      `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${foreign.toSorted().join(" ")}]\n` +
      `--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix (${KUBELET_PREFIXES.join(", ")}) ` +
      `or be in the specifically allowed set (${KUBELET_LABELS.join(", ")})`
    );
  }
  const faults = Object.entries(labels).flatMap(([key, value]) => [
    ...described(key, labelKeyFaults(key)),
    ...described(value, labelValueFaults(value)),
  ]);
  return faults.length > 0 ? `invalid node labels: ${faults.join("; ")}` : undefined;
}

const described = (what: string, faults: readonly string[]) =>
  faults.length > 0 ? [`'${what}' - ${faults.join(", ")}`] : [];

const within = (namespace: string, domain: string) => namespace === domain || namespace.endsWith(`.${domain}`);
const namespaceOf = (key: string) => (key.includes("/") ? key.slice(0, key.indexOf("/")) : "");
const isReserved = (key: string) => ["kubernetes.io", "k8s.io"].some((domain) => within(namespaceOf(key), domain));
const isKubelets = (key: string) =>
  KUBELET_LABELS.includes(key) || KUBELET_PREFIXES.some((prefix) => within(namespaceOf(key), prefix));
