/** The volumes of the simulator's pods, each with its mount, from short descriptions. */
import type { Volume, VolumeMount } from "../../src/api/gen/core-v1.ts";

export interface VolumePart {
  readonly volume: Volume;
  readonly mount: VolumeMount;
}

const part = (name: string, source: Omit<Volume, "name">, mount: Partial<VolumeMount> = {}): VolumePart => ({
  volume: { name, ...source },
  mount: { name, mountPath: `/v/${name}`, ...mount },
});

export const configMapPart = (name: string, object: string, optional = false): VolumePart =>
  part(name, { configMap: { name: object, ...(optional ? { optional } : {}) } }, { readOnly: true });

export const secretPart = (name: string, object: string, optional = false): VolumePart =>
  part(name, { secret: { secretName: object, ...(optional ? { optional } : {}) } }, { readOnly: true });

export const emptyDirPart = (name: string, medium: "" | "Memory" = ""): VolumePart =>
  part(name, { emptyDir: medium === "" ? {} : { medium } });

export const downwardPart = (name: string): VolumePart =>
  part(name, {
    downwardAPI: {
      items: [
        { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
        { path: "who/name", fieldRef: { fieldPath: "metadata.name" } },
      ],
    },
  });

/** What the API server's admission adds to every pod, with a ConfigMap of the scenario in place of the cluster's. */
export const tokenPart = (name: string, configMap: string, expirationSeconds = 3607): VolumePart =>
  part(
    name,
    {
      projected: {
        sources: [
          { serviceAccountToken: { path: "token", expirationSeconds } },
          { configMap: { name: configMap } },
          { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
        ],
      },
    },
    { readOnly: true },
  );

export const hostPathPart = (name: string, path: string, type = "Directory"): VolumePart =>
  part(name, { hostPath: { path, type } });

export const claimPart = (name: string, claimName: string): VolumePart =>
  part(name, { persistentVolumeClaim: { claimName } });

export const imagePart = (name: string, reference: string): VolumePart =>
  part(name, { image: { reference, pullPolicy: "IfNotPresent" } }, { readOnly: true });

/** The same volume as the other part, mounted with a subPath. */
export const subPathOf = ({ volume }: VolumePart, subPath: string): VolumePart => ({
  volume,
  mount: { name: volume.name, mountPath: `/s/${volume.name}/${subPath}`, subPath },
});
