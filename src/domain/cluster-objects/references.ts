/** The API objects that a pod references, which its node therefore may and must read, and what is known of each. */
import type { Container, EphemeralContainer, Pod, Volume } from "../../api/gen/core-v1.ts";
import { allContainers } from "../pod/containers.ts";

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

export interface ObjectReference {
  readonly kind: ReferencedKind;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

type Found = readonly [kind: ReferencedKind, name: string | undefined];

/** Each object once, in the order the pod names them. */
export function referencesOf({ metadata, spec }: Pod): readonly ObjectReference[] {
  const namespace = metadata?.namespace ?? "";
  const found: readonly Found[] = [
    ...(spec?.imagePullSecrets ?? []).map(({ name }): Found => ["Secret", name]),
    ...allContainers(spec).flatMap(ofContainer),
    ...(spec?.volumes ?? []).flatMap((volume) => ofVolume(volume, metadata?.name ?? "")),
  ];
  const distinct = new Map<string, ObjectReference>();
  for (const [kind, name] of found) {
    if (name !== undefined && name !== "") distinct.set(objectKey(kind, namespace, name), { kind, namespace, name });
  }
  return [...distinct.values()];
}

const ofContainer = ({ env, envFrom }: Container | EphemeralContainer): readonly Found[] => [
  ...(envFrom ?? []).flatMap(({ configMapRef, secretRef }): readonly Found[] => [
    ["ConfigMap", configMapRef?.name],
    ["Secret", secretRef?.name],
  ]),
  ...(env ?? []).flatMap(({ valueFrom }): readonly Found[] => [
    ["ConfigMap", valueFrom?.configMapKeyRef?.name],
    ["Secret", valueFrom?.secretKeyRef?.name],
  ]),
];

const ofVolume = (volume: Volume, podName: string): readonly Found[] => [
  ["ConfigMap", volume.configMap?.name],
  ["Secret", volume.secret?.secretName],
  ...(volume.projected?.sources ?? []).flatMap(({ configMap, secret }): readonly Found[] => [
    ["ConfigMap", configMap?.name],
    ["Secret", secret?.name],
  ]),
  // Credentials for volume plugins.
  ["Secret", volume.csi?.nodePublishSecretRef?.name],
  ["Secret", volume.iscsi?.secretRef?.name],
  ["Secret", volume.flexVolume?.secretRef?.name],
  ["PersistentVolumeClaim", claimNameOf(podName, volume)],
];

/** The name of the claim that a volume stands for; undefined: none. */
export const claimNameOf = (podName: string, { name, persistentVolumeClaim, ephemeral }: Volume): string | undefined =>
  persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? undefined : `${podName}-${name}`);
