/**
 * The files in a volume of written files, with content, mode and owner. Built from API objects and texts; errors name
 * missing parts as upstream does. A set is complete, or there is none.
 */
import type { ConfigMap, KeyToPath, Secret } from "../../api/gen/core-v1.ts";
import { base64Bytes } from "../../base/base64.ts";
import { utf8Bytes } from "../../base/utf8.ts";

export interface ProjectedFile {
  readonly content: Uint8Array;
  readonly mode: number;
  /** Undefined: root. */
  readonly uid: number | undefined;
}

/** By path relative to the volume, with slashes between the parts. */
export type FileSet = ReadonlyMap<string, ProjectedFile>;

export type FilesOrRefusal =
  | { readonly kind: "files"; readonly files: FileSet }
  | { readonly kind: "refused"; readonly message: string };

interface KeySource {
  readonly contentOf: ReadonlyMap<string, Uint8Array>;
  readonly missingKey: (key: string) => string;
}

const nothing: ReadonlyMap<string, Uint8Array> = new Map();

export const configMapKeys = (configMap: ConfigMap | undefined): KeySource => ({
  contentOf:
    configMap === undefined
      ? nothing
      : new Map([
          ...decoded(configMap.binaryData),
          ...Object.entries(configMap.data ?? {}).map(([key, text]) => [key, utf8Bytes(text)] as const),
        ]),
  missingKey: (key) => `configmap references non-existent config key: ${key}`,
});

export const secretKeys = (secret: Secret | undefined): KeySource => ({
  contentOf: secret === undefined ? nothing : new Map(decoded(secret.data)),
  missingKey: (key) => `references non-existent secret key: ${key}`,
});

/** The API server sends only base64; anything else counts as empty. */
const decoded = (data: Readonly<Record<string, string>> | undefined): readonly (readonly [string, Uint8Array])[] =>
  Object.entries(data ?? {}).map(([key, text]) => [key, base64Bytes(text) ?? new Uint8Array()]);

/** All keys, or those that `items` names, at the paths given there. */
export function filesOfKeys(
  { contentOf, missingKey }: KeySource,
  items: readonly KeyToPath[] | undefined,
  defaultMode: number,
  optional: boolean,
): FilesOrRefusal {
  const files = new Map<string, ProjectedFile>();
  if (items === undefined || items.length === 0) {
    for (const [key, content] of contentOf) files.set(key, { content, mode: defaultMode, uid: undefined });
    return { kind: "files", files };
  }
  for (const { key, path, mode } of items) {
    const content = contentOf.get(key);
    if (content !== undefined) files.set(path, { content, mode: mode ?? defaultMode, uid: undefined });
    else if (!optional) return { kind: "refused", message: missingKey(key) };
  }
  return { kind: "files", files };
}

const PATH_BYTES_MAX = 4096;
const NAME_BYTES_MAX = 255;

/** The same files under clean paths, or the error of one of them. */
export function checkedPaths(files: FileSet): FilesOrRefusal {
  const clean = new Map<string, ProjectedFile>();
  for (const [path, file] of files) {
    const message = flawOf(path);
    if (message !== undefined) return { kind: "refused", message };
    const parts = path.split("/").filter((part) => part !== "" && part !== ".");
    clean.set(parts.join("/"), file);
  }
  return { kind: "files", files: clean };
}

function flawOf(path: string): string | undefined {
  if (path === "") return `invalid path: must not be empty: ""`;
  if (path.startsWith("/")) return `invalid path: must be relative path: ${path}`;
  if (utf8Bytes(path).length > PATH_BYTES_MAX)
    return `invalid path: must be less than or equal to ${PATH_BYTES_MAX} characters`;
  const parts = path.split("/");
  if (parts.includes("..")) return `invalid path: must not contain '..': ${path}`;
  if (parts.some((part) => utf8Bytes(part).length > NAME_BYTES_MAX))
    return `invalid path: filenames must be less than or equal to ${NAME_BYTES_MAX} characters`;
  if (parts[0]?.startsWith("..") === true) return `invalid path: must not start with '..': ${path}`;
  return undefined;
}
