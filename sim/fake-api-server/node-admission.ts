/**
 * What a node may do: the Node authorizer and the NodeRestriction admission plugin, as far as they affect a kubelet. An
 * administrator may do anything.
 */
import { nodes, persistentVolumeClaims } from "../../src/api/resources.ts";
import { jsonEqual } from "../../src/base/json-equal.ts";
import type { ObjectName, Selection } from "../../src/ports/api-server.ts";
import type { Identity } from "./identity.ts";
import { fieldAt, type Kind, kindOf } from "./kinds.ts";
import { asPod, isMirror } from "./pods.ts";
import { forbidden } from "./refusal.ts";
import { selectorOf } from "./selectors.ts";
import type { Store } from "./store.ts";
import { keyOf, type Stored } from "./stored.ts";

const FREE_READS = [
  "/services",
  "/namespaces",
  "node.k8s.io/runtimeclasses",
  "storage.k8s.io/csidrivers",
  "storage.k8s.io/csinodes",
  "storage.k8s.io/volumeattachments",
  "resource.k8s.io/resourceclaims",
  "resource.k8s.io/resourceslices",
  "certificates.k8s.io/certificatesigningrequests",
  "/serviceaccounts",
];
const REFERRED = ["/secrets", "/configmaps", "/persistentvolumeclaims"];
/** The kinds in REFERRED that may also be watched. */
const WATCHED = ["/secrets", "/configmaps"];
const FREE_WRITES = [
  "/events",
  "events.k8s.io/events",
  "certificates.k8s.io/certificatesigningrequests",
  "authentication.k8s.io/tokenreviews",
  "authorization.k8s.io/subjectaccessreviews",
  "resource.k8s.io/resourceslices",
];
const NAMED_AFTER_NODE = ["/nodes", "coordination.k8s.io/leases", "storage.k8s.io/csinodes"];
const LEASE_NAMESPACE = "kube-node-lease";
const RESTRICTED_LABEL = "node-restriction.kubernetes.io/";

const denied = (who: string, verb: string, kind: Kind, detail: string) =>
  forbidden(`${kind.resource.plural} is forbidden: User "system:node:${who}" cannot ${verb}: ${detail}`);

/** Authorizes reading one object. */
export function authorizeGet(store: Store, who: Identity, kind: Kind, { name, namespace }: ObjectName): void {
  if (who.kind === "admin" || FREE_READS.includes(kind.key)) return;
  if (NAMED_AFTER_NODE.includes(kind.key) && name === who.name) return;
  if (REFERRED.includes(kind.key) && isReferredTo(store, who.name, kind, namespace ?? "", name)) return;
  if (kind.key === "/persistentvolumes" && isClaimed(store, who.name, name)) return;
  if (kind.key === "/pods") {
    const pod = store.get(kind, keyOf(namespace, name));
    if (pod === undefined || fieldAt(pod, "spec.nodeName") === who.name) return;
  }
  throw denied(who.name, "get", kind, "no relationship found between node and this object");
}

/**
 * Authorizes lists and watches. Outside FREE_READS a node may select only its own objects and those its pods refer to.
 */
export function authorizeList(store: Store, who: Identity, kind: Kind, selection: Selection): void {
  if (who.kind === "admin" || FREE_READS.includes(kind.key)) return;
  const { name, nodeName } = selectorOf(kind, selection);
  if (kind.key === "/pods" && nodeName === who.name) return;
  if (NAMED_AFTER_NODE.includes(kind.key) && name === who.name) return;
  const { namespace = "" } = selection;
  if (WATCHED.includes(kind.key) && name !== undefined && isReferredTo(store, who.name, kind, namespace, name)) return;
  throw denied(who.name, "list", kind, "can only list and watch what is selected for this node");
}

export function admitWrite(
  store: Store,
  who: Identity,
  kind: Kind,
  before: Stored | undefined,
  after: Stored,
  subresource: string | undefined,
): void {
  if (who.kind === "admin" || FREE_WRITES.includes(kind.key)) return;
  const refuse = (detail: string) => denied(who.name, before === undefined ? "create" : "update", kind, detail);
  if (NAMED_AFTER_NODE.includes(kind.key)) {
    if (after.metadata.name !== who.name)
      throw refuse(`node "${who.name}" is not allowed to modify "${after.metadata.name}"`);
    if (kind.key === "/nodes") checkNode(before, after, refuse);
    else if (kind.key.endsWith("leases") && after.metadata.namespace !== LEASE_NAMESPACE)
      throw refuse(`can only access leases in the ${LEASE_NAMESPACE} namespace`);
    return;
  }
  if (kind.key !== "/pods") throw refuse("not a kind that nodes write");
  if (fieldAt(after, "spec.nodeName") !== who.name)
    throw refuse("can only touch pods with spec.nodeName set to itself");
  if (before === undefined) checkMirror(store, who.name, after, refuse);
  else if (subresource !== "status") throw refuse("can only update the status of pods");
  else if (!jsonEqual(before.metadata.labels, after.metadata.labels))
    throw refuse("cannot update labels through pod status");
}

export function admitDelete(who: Identity, kind: Kind, object: Stored): void {
  if (who.kind === "admin") return;
  const isOwnPod = kind.key === "/pods" && fieldAt(object, "spec.nodeName") === who.name;
  const isOwn = kind.key !== "/nodes" && NAMED_AFTER_NODE.includes(kind.key) && object.metadata.name === who.name;
  if (!isOwnPod && !isOwn && kind.key !== "resource.k8s.io/resourceslices")
    throw denied(who.name, "delete", kind, "can only delete what is its own");
}

function checkNode(before: Stored | undefined, after: Stored, refuse: (detail: string) => Error): void {
  const restricted = (object: Stored | undefined) =>
    Object.entries(object?.metadata.labels ?? {}).filter(([key]) => key.startsWith(RESTRICTED_LABEL));
  if (!jsonEqual(restricted(before), restricted(after)))
    throw refuse(`is not allowed to modify labels: ${RESTRICTED_LABEL}`);
  if ((after.metadata.ownerReferences ?? []).length > (before?.metadata.ownerReferences ?? []).length)
    throw refuse("is not allowed to set ownerReferences");
  if (before !== undefined && !jsonEqual(before.spec?.["taints"], after.spec?.["taints"]))
    throw refuse("is not allowed to modify taints");
}

function checkMirror(store: Store, node: string, pod: Stored, refuse: (detail: string) => Error): void {
  if (!isMirror(pod)) throw refuse("can only create mirror pods");
  const own = store.get(kindOf(nodes), keyOf(undefined, node));
  const owners = pod.metadata.ownerReferences ?? [];
  const [owner] = owners;
  const isRight = owner?.kind === "Node" && owner.name === node && owner.controller === true;
  if (owners.length !== 1 || !isRight || owner.uid !== own?.metadata.uid)
    throw refuse("the mirror pod must have an owner reference set to the node itself");
  if (references(pod).length > 0 || asPod(pod).spec?.serviceAccountName !== undefined)
    throw refuse("can not create pods that reference API objects");
}

const isReferredTo = (store: Store, node: string, kind: Kind, namespace: string, name: string): boolean => {
  for (const pod of store.values(kindOf({ ...kind.resource, group: "", plural: "pods" }))) {
    if (fieldAt(pod, "spec.nodeName") !== node || pod.metadata.namespace !== namespace) continue;
    if (references(pod).includes(`${kind.key}/${name}`)) return true;
  }
  return false;
};

/** Whether a claim that a pod of the node refers to is bound to this volume. */
function isClaimed(store: Store, node: string, volume: string): boolean {
  const claims = kindOf(persistentVolumeClaims);
  return [...store.values(claims)].some(
    (claim) =>
      fieldAt(claim, "spec.volumeName") === volume &&
      isReferredTo(store, node, claims, claim.metadata.namespace ?? "", claim.metadata.name),
  );
}

/** Every Secret, ConfigMap and claim that a pod refers to, as "<kind key>/<name>". */
function references(stored: Stored): readonly string[] {
  const { spec } = asPod(stored);
  const found: (string | undefined)[] = [];
  const secret = (name: string | undefined) => found.push(name && `/secrets/${name}`);
  const configMap = (name: string | undefined) => found.push(name && `/configmaps/${name}`);
  for (const { name } of spec?.imagePullSecrets ?? []) secret(name);
  const ephemeral = spec?.ephemeralContainers ?? [];
  for (const container of [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...ephemeral]) {
    for (const { secretRef, configMapRef } of container.envFrom ?? []) {
      secret(secretRef?.name);
      configMap(configMapRef?.name);
    }
    for (const { valueFrom } of container.env ?? []) {
      secret(valueFrom?.secretKeyRef?.name);
      configMap(valueFrom?.configMapKeyRef?.name);
    }
  }
  for (const volume of spec?.volumes ?? []) {
    secret(volume.secret?.secretName);
    configMap(volume.configMap?.name);
    const { claimName } = volume.persistentVolumeClaim ?? {};
    found.push(claimName && `/persistentvolumeclaims/${claimName}`);
    if (volume.ephemeral) found.push(`/persistentvolumeclaims/${stored.metadata.name}-${volume.name}`);
    for (const source of volume.projected?.sources ?? []) {
      secret(source.secret?.name);
      configMap(source.configMap?.name);
    }
  }
  return found.flatMap((reference) => reference || []);
}
