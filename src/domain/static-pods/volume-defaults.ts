/** The API server's defaults for the volumes of a pod, by type, and for references to fields of the pod itself. */
import type {
  DownwardAPIVolumeFile,
  EphemeralVolumeSource,
  ObjectFieldSelector,
  ResourceFieldSelector,
  Volume,
  VolumeProjection,
} from "../../api/gen/core-v1.ts";
import { defaultImagePullPolicy } from "../images/pull-policy.ts";
import { roundResources } from "./resource-defaults.ts";

/** rw-r--r-- */
const FILE_MODE = 0o644;
const TOKEN_SECONDS = 3600;

export function defaultVolume(volume: Volume): Volume {
  const { name, ...source } = volume;
  const kinds = Object.keys(source) as (keyof typeof source)[];
  if (kinds.length === 0) return { name, emptyDir: {} };
  return kinds.reduce<Volume>((filled, kind) => ({ ...filled, ...defaultSource(kind, volume) }), volume);
}

function defaultSource(kind: Exclude<keyof Volume, "name">, volume: Volume): Partial<Volume> {
  const { hostPath, image, secret, configMap, downwardAPI, projected, ephemeral } = volume;
  switch (kind) {
    case "hostPath":
      return hostPath === undefined ? {} : { hostPath: { ...hostPath, type: hostPath.type ?? "" } };
    case "image": {
      if (image === undefined) return {};
      const pullPolicy = image.pullPolicy || defaultImagePullPolicy(image.reference ?? "");
      return { image: { ...image, pullPolicy } };
    }
    case "secret":
      return { secret: { ...secret, defaultMode: secret?.defaultMode ?? FILE_MODE } };
    case "configMap":
      return { configMap: { ...configMap, defaultMode: configMap?.defaultMode ?? FILE_MODE } };
    case "downwardAPI":
      return {
        downwardAPI: {
          ...downwardAPI,
          ...items(downwardAPI?.items),
          defaultMode: downwardAPI?.defaultMode ?? FILE_MODE,
        },
      };
    case "projected": {
      const sources = projected?.sources?.map(defaultProjection);
      const filled = sources === undefined ? {} : { sources };
      return { projected: { ...projected, ...filled, defaultMode: projected?.defaultMode ?? FILE_MODE } };
    }
    case "ephemeral":
      return ephemeral === undefined ? {} : { ephemeral: defaultEphemeral(ephemeral) };
    default:
      return defaultNetworkDisk(kind, volume);
  }
}

function defaultNetworkDisk(kind: Exclude<keyof Volume, "name">, volume: Volume): Partial<Volume> {
  const { iscsi, rbd, azureDisk, scaleIO } = volume;
  if (kind === "iscsi" && iscsi !== undefined) {
    return { iscsi: { ...iscsi, iscsiInterface: iscsi.iscsiInterface || "default" } };
  }
  if (kind === "rbd" && rbd !== undefined) {
    const { pool, user, keyring } = rbd;
    return {
      rbd: { ...rbd, pool: pool || "rbd", user: user || "admin", keyring: keyring || "/etc/ceph/keyring" },
    };
  }
  if (kind === "azureDisk" && azureDisk !== undefined) {
    const defaults = { cachingMode: "ReadWrite", fsType: "ext4", readOnly: false, kind: "Shared" };
    return { azureDisk: { ...defaults, ...azureDisk } };
  }
  if (kind === "scaleIO" && scaleIO !== undefined) {
    const { storageMode, fsType } = scaleIO;
    return { scaleIO: { ...scaleIO, storageMode: storageMode || "ThinProvisioned", fsType: fsType || "xfs" } };
  }
  return {};
}

const items = (files: readonly DownwardAPIVolumeFile[] | undefined) =>
  files === undefined ? {} : { items: files.map(defaultFile) };

const defaultFile = (file: DownwardAPIVolumeFile): DownwardAPIVolumeFile => ({
  ...file,
  ...(file.fieldRef === undefined ? {} : { fieldRef: defaultFieldRef(file.fieldRef) }),
  ...(file.resourceFieldRef === undefined ? {} : { resourceFieldRef: defaultResourceRef(file.resourceFieldRef) }),
});

function defaultProjection(source: VolumeProjection): VolumeProjection {
  const { downwardAPI, serviceAccountToken } = source;
  return {
    ...source,
    ...(downwardAPI === undefined ? {} : { downwardAPI: { ...downwardAPI, ...items(downwardAPI.items) } }),
    ...(serviceAccountToken === undefined
      ? {}
      : {
          serviceAccountToken: {
            ...serviceAccountToken,
            expirationSeconds: serviceAccountToken.expirationSeconds ?? TOKEN_SECONDS,
          },
        }),
  };
}

function defaultEphemeral(ephemeral: EphemeralVolumeSource): EphemeralVolumeSource {
  const template = ephemeral.volumeClaimTemplate;
  if (template === undefined) return ephemeral;
  const { spec } = template;
  return {
    ...ephemeral,
    volumeClaimTemplate: {
      ...template,
      metadata: template.metadata ?? {},
      spec: {
        ...spec,
        volumeMode: spec.volumeMode ?? "Filesystem",
        resources: roundResources(spec.resources ?? {}),
      },
    },
  };
}

/** A volume's file or an environment variable shows a field of its own pod by this reference. */
export const defaultFieldRef = (selector: ObjectFieldSelector): ObjectFieldSelector => ({
  ...selector,
  apiVersion: selector.apiVersion || "v1",
});

export const defaultResourceRef = (selector: ResourceFieldSelector): ResourceFieldSelector => ({
  ...selector,
  divisor: selector.divisor ?? "0",
});
