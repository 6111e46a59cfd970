/** The API kinds that Deckhand uses, each tied to its generated type. */
import type { TokenReview } from "./gen/authentication-v1.ts";
import type { SubjectAccessReview } from "./gen/authorization-v1.ts";
import type { CertificateSigningRequest } from "./gen/certificates-v1.ts";
import type { Lease } from "./gen/coordination-v1.ts";
import type {
  ConfigMap,
  Event as CoreEvent,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
  ServiceAccount,
} from "./gen/core-v1.ts";
import type { Event } from "./gen/events-v1.ts";
import type { RuntimeClass } from "./gen/node-v1.ts";
import type { ResourceClaim, ResourceSlice } from "./gen/resource-v1.ts";
import type { CSIDriver, CSINode, StorageClass, VolumeAttachment } from "./gen/storage-v1.ts";
import type { Resource } from "./resource.ts";

const inNamespace = (group: string, kind: string, plural: string) =>
  ({ group, version: "v1", kind, plural, namespaced: true }) as const;
const ofCluster = (group: string, kind: string, plural: string) =>
  ({ group, version: "v1", kind, plural, namespaced: false }) as const;

export const pods: Resource<Pod> = inNamespace("", "Pod", "pods");
export const secrets: Resource<Secret> = inNamespace("", "Secret", "secrets");
export const configMaps: Resource<ConfigMap> = inNamespace("", "ConfigMap", "configmaps");
export const services: Resource<Service> = inNamespace("", "Service", "services");
export const serviceAccounts: Resource<ServiceAccount> = inNamespace("", "ServiceAccount", "serviceaccounts");
export const coreEvents: Resource<CoreEvent> = inNamespace("", "Event", "events");
export const persistentVolumeClaims: Resource<PersistentVolumeClaim> = inNamespace(
  "",
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
);
export const nodes: Resource<Node> = ofCluster("", "Node", "nodes");
export const namespaces: Resource<Namespace> = ofCluster("", "Namespace", "namespaces");
export const persistentVolumes: Resource<PersistentVolume> = ofCluster("", "PersistentVolume", "persistentvolumes");

export const events: Resource<Event> = inNamespace("events.k8s.io", "Event", "events");
export const leases: Resource<Lease> = inNamespace("coordination.k8s.io", "Lease", "leases");
export const runtimeClasses: Resource<RuntimeClass> = ofCluster("node.k8s.io", "RuntimeClass", "runtimeclasses");

export const csiNodes: Resource<CSINode> = ofCluster("storage.k8s.io", "CSINode", "csinodes");
export const csiDrivers: Resource<CSIDriver> = ofCluster("storage.k8s.io", "CSIDriver", "csidrivers");
export const storageClasses: Resource<StorageClass> = ofCluster("storage.k8s.io", "StorageClass", "storageclasses");
export const volumeAttachments: Resource<VolumeAttachment> = ofCluster(
  "storage.k8s.io",
  "VolumeAttachment",
  "volumeattachments",
);

export const resourceClaims: Resource<ResourceClaim> = inNamespace(
  "resource.k8s.io",
  "ResourceClaim",
  "resourceclaims",
);
export const resourceSlices: Resource<ResourceSlice> = ofCluster("resource.k8s.io", "ResourceSlice", "resourceslices");

export const certificateSigningRequests: Resource<CertificateSigningRequest> = ofCluster(
  "certificates.k8s.io",
  "CertificateSigningRequest",
  "certificatesigningrequests",
);

/** Reviews are requests: the API server answers them and stores nothing. */
export const tokenReviews: Resource<TokenReview> = ofCluster("authentication.k8s.io", "TokenReview", "tokenreviews");
export const subjectAccessReviews: Resource<SubjectAccessReview> = ofCluster(
  "authorization.k8s.io",
  "SubjectAccessReview",
  "subjectaccessreviews",
);
