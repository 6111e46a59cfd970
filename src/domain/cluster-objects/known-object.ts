/** What is known of an API object that a pod refers to. Absent from its table: nobody refers to it. */
export type KnownObject<T> =
  /** Asked for, not heard of yet; `trouble` is the last thing that went wrong. */
  | { readonly kind: "unknown"; readonly trouble: string | undefined }
  | { readonly kind: "missing" }
  | { readonly kind: "present"; readonly object: T };

export type ReferencedKind = "ConfigMap" | "Secret" | "PersistentVolumeClaim" | "PersistentVolume";

/** By which an object stands in the tables: "Secret/namespace/name", and "PersistentVolume//name". */
export const objectKey = (kind: ReferencedKind, namespace: string, name: string): string =>
  `${kind}/${namespace}/${name}`;
