/**
 * The content of a volume of written files: configMap, secret, downwardAPI and projected. The result is the complete
 * set, or what it still waits for, or why it cannot be built.
 */
import type { ConfigMap, DownwardAPIVolumeFile, Pod, Secret, Volume, VolumeProjection } from "../../api/gen/core-v1.ts";
import { aggregate } from "../../base/go-text.ts";
import { utf8Bytes } from "../../base/utf8.ts";
import { type KnownObject, objectKey } from "../cluster-objects/references.ts";
import type { ReferredText } from "../container-config/environment/field-reference.ts";
import { checkedPaths, configMapKeys, type FileSet, filesOfKeys, type ProjectedFile, secretKeys } from "./file-set.ts";
import { podFileGroup, podFileUser } from "./fs-group.ts";
import type { TokenSpec } from "./token.ts";

export type KnownToken =
  | { readonly kind: "present"; readonly token: string }
  /** The request is under way. */
  | { readonly kind: "unknown" }
  | { readonly kind: "failed"; readonly message: string };

export interface FileSources {
  readonly object: (key: string) => KnownObject<unknown> | undefined;
  readonly token: (spec: TokenSpec) => KnownToken;
  /** The text of a field or resource of the pod. */
  readonly field: (item: DownwardAPIVolumeFile) => ReferredText;
}

export type FileVolume =
  | { readonly kind: "files"; readonly files: FileSet }
  /** `why`: the last error, if there was one. */
  | { readonly kind: "waits"; readonly why: string | undefined }
  | { readonly kind: "refused"; readonly message: string };

const MODE_UNLESS_SAID = 0o644;

export function fileVolume(pod: Pod, volume: Volume, sources: FileSources): FileVolume {
  const parts = partsOf(volume);
  const [waits, refusals]: [(string | undefined)[], string[]] = [[], []];
  const files = new Map<string, ProjectedFile>();
  for (const part of parts.sources) {
    const made = filesOfPart(pod, part, parts.mode, sources);
    if (made.kind === "waits") waits.push(made.why);
    else if (made.kind === "refused") refusals.push(made.message);
    else for (const [path, file] of made.files) files.set(path, file);
  }
  if (refusals.length > 0) return { kind: "refused", message: aggregate(refusals) };
  if (waits.length > 0) return { kind: "waits", why: waits.find((why) => why !== undefined) };
  return checkedPaths(files);
}

function partsOf({ configMap, secret, downwardAPI, projected }: Volume): {
  readonly sources: readonly VolumeProjection[];
  readonly mode: number;
} {
  if (configMap !== undefined) return { sources: [{ configMap }], mode: configMap.defaultMode ?? MODE_UNLESS_SAID };
  if (secret !== undefined) {
    const { secretName: name, items, optional, defaultMode } = secret;
    const own = {
      ...(name === undefined ? {} : { name }),
      ...(items === undefined ? {} : { items }),
      ...(optional === undefined ? {} : { optional }),
    };
    return { sources: [{ secret: own }], mode: defaultMode ?? MODE_UNLESS_SAID };
  }
  if (downwardAPI !== undefined)
    return { sources: [{ downwardAPI }], mode: downwardAPI.defaultMode ?? MODE_UNLESS_SAID };
  return { sources: projected?.sources ?? [], mode: projected?.defaultMode ?? MODE_UNLESS_SAID };
}

function filesOfPart(pod: Pod, part: VolumeProjection, mode: number, sources: FileSources): FileVolume {
  const namespace = pod.metadata?.namespace ?? "";
  if (part.configMap !== undefined) {
    const { name = "", items, optional = false } = part.configMap;
    const known = sources.object(objectKey("ConfigMap", namespace, name));
    return ofObject(known, `configmap "${name}" not found`, optional, (object) =>
      filesOfKeys(configMapKeys(object as ConfigMap | undefined), items, mode, optional),
    );
  }
  if (part.secret !== undefined) {
    const { name = "", items, optional = false } = part.secret;
    const known = sources.object(objectKey("Secret", namespace, name));
    return ofObject(known, `secret "${name}" not found`, optional, (object) =>
      filesOfKeys(secretKeys(object as Secret | undefined), items, mode, optional),
    );
  }
  if (part.downwardAPI !== undefined) return filesOfFields(part.downwardAPI.items ?? [], mode, sources);
  if (part.serviceAccountToken !== undefined) return fileOfToken(pod, part.serviceAccountToken, mode, sources);
  return { kind: "files", files: new Map() };
}

function ofObject(
  known: KnownObject<unknown> | undefined,
  missing: string,
  optional: boolean,
  files: (object: unknown) => FileVolume,
): FileVolume {
  if (known === undefined || known.kind === "unknown") return { kind: "waits", why: known?.trouble };
  if (known.kind === "present") return files(known.object);
  return optional ? files(undefined) : { kind: "refused", message: missing };
}

function filesOfFields(items: readonly DownwardAPIVolumeFile[], mode: number, { field }: FileSources): FileVolume {
  const files = new Map<string, ProjectedFile>();
  const refusals: string[] = [];
  for (const item of items) {
    const made = field(item);
    if (made.kind === "refused") refusals.push(made.message);
    else files.set(item.path, { content: utf8Bytes(made.text), mode: item.mode ?? mode, uid: undefined });
  }
  if (refusals.length > 0) return { kind: "refused", message: aggregate(refusals) };
  return { kind: "files", files };
}

/**
 * Only the user or the fsGroup of the pod may read a token: the one user that all containers run as, or the group.
 * Without either, the default mode applies.
 */
function fileOfToken(
  pod: Pod,
  { path, audience = "", expirationSeconds = 3600 }: NonNullable<VolumeProjection["serviceAccountToken"]>,
  defaultMode: number,
  { token }: FileSources,
): FileVolume {
  const known = token({ audience, expirationSeconds });
  if (known.kind === "unknown") return { kind: "waits", why: undefined };
  if (known.kind === "failed") return { kind: "refused", message: known.message };
  const uid = podFileUser(pod);
  const mode = uid === undefined && podFileGroup(pod) === undefined ? defaultMode : 0o600;
  return { kind: "files", files: new Map([[path, { content: utf8Bytes(known.token), mode, uid }]]) };
}
