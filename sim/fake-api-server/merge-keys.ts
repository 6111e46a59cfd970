/**
 * How the API server merges lists in a strategic merge patch: by a key, as a set, or not at all. A list that is missing
 * here is replaced as a whole. These are facts of the Kubernetes API types, for the kinds a kubelet writes.
 */
export type ListMerge = { readonly kind: "byKey"; readonly key: string } | { readonly kind: "set" };

const byKey = (key: string): ListMerge => ({ kind: "byKey", key });
const SET: ListMerge = { kind: "set" };

/** Keyed by the field's name where that is unique, else by its parent and name. */
const LISTS: ReadonlyMap<string, ListMerge> = new Map([
  ["conditions", byKey("type")],
  ["ownerReferences", byKey("uid")],
  ["finalizers", SET],
  ["status.addresses", byKey("type")],
  ["spec.podCIDRs", SET],
  ["status.podIPs", byKey("ip")],
  ["status.hostIPs", byKey("ip")],
  ["status.resourceClaimStatuses", byKey("name")],
  ["containers", byKey("name")],
  ["initContainers", byKey("name")],
  ["ephemeralContainers", byKey("name")],
  ["volumes", byKey("name")],
  ["env", byKey("name")],
  ["volumeMounts", byKey("mountPath")],
  ["volumeDevices", byKey("devicePath")],
  ["spec.ports", byKey("port")],
  ["containers.ports", byKey("containerPort")],
  ["initContainers.ports", byKey("containerPort")],
  ["imagePullSecrets", byKey("name")],
  ["hostAliases", byKey("ip")],
  ["schedulingGates", byKey("name")],
  ["spec.resourceClaims", byKey("name")],
  ["topologySpreadConstraints", byKey("topologyKey")],
  ["secrets", byKey("name")],
]);

export const listMergeOf = (parent: string, field: string): ListMerge | undefined =>
  LISTS.get(field) ?? LISTS.get(`${parent}.${field}`);
