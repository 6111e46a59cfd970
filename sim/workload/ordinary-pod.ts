/** Pods as users write them: volumes, environment, a token. The simulator defines their behavior. */
import type {
  EnvFromSource,
  EnvVar,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
} from "../../src/api/gen/core-v1.ts";
import type { Behaviour } from "../fake-runtime/behaviour.ts";
import { app, pod, SERVER } from "./pod.ts";
import type { VolumePart } from "./volume-parts.ts";

export interface PodWishes {
  readonly name: string;
  readonly parts?: readonly VolumePart[];
  readonly behaviour?: Behaviour;
  readonly image?: string;
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFromSource[];
  readonly spec?: Partial<PodSpec>;
}

export function ordinaryPod(wishes: PodWishes): Pod {
  const { name, parts = [], behaviour = SERVER, image = "busybox", env, envFrom, spec = {} } = wishes;
  const volumes = new Map(parts.map(({ volume }) => [volume.name, volume]));
  const own = app(behaviour, {
    image,
    volumeMounts: parts.map(({ mount }) => mount),
    ...(env === undefined ? {} : { env: [...env] }),
    ...(envFrom === undefined ? {} : { envFrom: [...envFrom] }),
  });
  return pod(name, { volumes: [...volumes.values()], ...own, ...spec });
}

/**
 * A directory of the node as a PersistentVolume that is bound to its claim. `claimUid` is the UID of the created claim.
 */
export function localVolume(name: string, path: string, claimUid: string): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      local: { path },
      claimRef: { kind: "PersistentVolumeClaim", namespace: "default", name: claimOf(name), uid: claimUid },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["n1"] }] },
          ],
        },
      },
    },
  };
}

export const claimOf = (volumeName: string) => `claim-${volumeName}`;

export const localClaim = (volumeName: string): PersistentVolumeClaim => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: claimOf(volumeName), namespace: "default" },
  spec: { accessModes: ["ReadWriteOnce"], volumeName, resources: { requests: { storage: "1Gi" } } },
});
