/** What is known of an API object that a pod references. Objects that no pod references are absent from the table. */
export type KnownObject<T> =
  /** Requested but not received yet; `trouble` is the last error. */
  | { readonly kind: "unknown"; readonly trouble: string | undefined }
  | { readonly kind: "missing" }
  | { readonly kind: "present"; readonly object: T };

export type ReferencedKind = "ConfigMap" | "Secret" | "PersistentVolumeClaim" | "PersistentVolume";

/** The key of an object in the tables: "Secret/namespace/name", and "PersistentVolume//name". */
export const objectKey = (kind: ReferencedKind, namespace: string, name: string): string =>
  `${kind}/${namespace}/${name}`;
