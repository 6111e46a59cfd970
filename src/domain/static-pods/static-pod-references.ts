/** A static pod must run without an API server: finds references to API objects, and names them as upstream does. */
import type { Pod, PodSpec, Volume, VolumeProjection } from "../../api/gen/core-v1.ts";
import { allContainers } from "../pod/containers.ts";

/** The kind of API object that the pod refers to, as upstream names it; undefined if there is none. */
export function apiReferenceOf({ spec }: Pod): string | undefined {
  if (spec === undefined) return undefined;
  if ((spec.serviceAccountName || spec.serviceAccount || "") !== "") return "serviceaccounts";
  if (secretNames(spec).some(isNamed)) return "secrets";
  if (configMapNames(spec).some(isNamed)) return "configmaps";
  if ((spec.resourceClaims ?? []).length > 0) return "resourceclaims";
  for (const volume of spec.volumes ?? []) {
    const reference = volumeReference(volume);
    if (reference !== undefined) return reference;
  }
  return undefined;
}

const isNamed = (name: string | undefined) => name !== undefined && name !== "";

function secretNames(spec: PodSpec): readonly (string | undefined)[] {
  return [
    ...(spec.imagePullSecrets ?? []).map(({ name }) => name),
    ...allContainers(spec).flatMap(({ env = [], envFrom = [] }) => [
      ...envFrom.map(({ secretRef }) => secretRef?.name),
      ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap((volume) => [
      volume.azureFile?.secretName,
      volume.cephfs?.secretRef?.name,
      volume.cinder?.secretRef?.name,
      volume.flexVolume?.secretRef?.name,
      ...(volume.projected?.sources ?? []).map(({ secret }) => secret?.name),
      volume.rbd?.secretRef?.name,
      volume.secret?.secretName,
      volume.scaleIO?.secretRef?.name,
      volume.iscsi?.secretRef?.name,
      volume.storageos?.secretRef?.name,
      volume.csi?.nodePublishSecretRef?.name,
    ]),
  ];
}

function configMapNames(spec: PodSpec): readonly (string | undefined)[] {
  return [
    ...allContainers(spec).flatMap(({ env = [], envFrom = [] }) => [
      ...envFrom.map(({ configMapRef }) => configMapRef?.name),
      ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(({ projected, configMap }) => [
      ...(projected?.sources ?? []).map((source) => source.configMap?.name),
      configMap?.name,
    ]),
  ];
}

const volumeKinds: readonly (readonly [keyof Volume, string])[] = [
  ["configMap", "configmaps (via configmap volumes)"],
  ["secret", "secrets (via secret volumes)"],
  ["csi", "csidrivers (via CSI volumes)"],
  ["glusterfs", "endpoints (via glusterFS volumes)"],
  ["persistentVolumeClaim", "persistentvolumeclaims"],
  ["ephemeral", "persistentvolumeclaims (via ephemeral volumes)"],
  ["azureFile", "secrets (via azureFile volumes)"],
];

const projectionKinds: readonly (readonly [keyof VolumeProjection, string])[] = [
  ["configMap", "configmaps (via projected volumes)"],
  ["secret", "secrets (via projected volumes)"],
  ["serviceAccountToken", "serviceaccounts (via projected volumes)"],
  ["clusterTrustBundle", "clustertrustbundles"],
  ["podCertificate", "podcertificates"],
];

function volumeReference(volume: Volume): string | undefined {
  const named = volumeKinds.find(([kind]) => volume[kind] !== undefined);
  if (named !== undefined) return named[1];
  for (const source of volume.projected?.sources ?? []) {
    const projected = projectionKinds.find(([kind]) => source[kind] !== undefined);
    if (projected !== undefined) return projected[1];
  }
  return undefined;
}
