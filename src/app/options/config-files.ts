/** Reads the configuration file and the drop-in directory from disk. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { goQuote } from "../../base/go-text.ts";
import { parseYaml } from "../../base/yaml-text.ts";
import { CONFIGURATION_BYTES_MAX } from "../limits.ts";
import { API_VERSION, type Decoded, decodeConfiguration, KIND, requireKind } from "./decode-configuration.ts";
import { DecodeFault } from "./decode-primitives.ts";
import { FIELD_PATHS, fieldOf, type WrittenConfiguration } from "./fields.ts";

/** A file that cannot be used. */
export class FileFault extends Error {
  override readonly name = "FileFault";
}

/** The document is not YAML or exceeds a limit. */
export class DocumentFault extends Error {
  override readonly name = "DocumentFault";
}

interface ReadDocument {
  readonly value: unknown;
  readonly duplicateKeys: readonly string[];
}

export function readDocument(text: string): ReadDocument {
  if (Buffer.byteLength(text) > CONFIGURATION_BYTES_MAX)
    throw new DocumentFault(`larger than ${CONFIGURATION_BYTES_MAX} bytes`);
  const parsed = parseYaml(text, { intAsBigInt: true });
  if (parsed.kind === "malformed") throw new DocumentFault(parsed.detail);
  return parsed;
}

export interface LoadedFile {
  readonly written: WrittenConfiguration;
  /** Set if the file had to be decoded leniently: the error of the strict decoder. */
  readonly strictFault: string | undefined;
}

export function loadConfigFile(path: string): LoadedFile {
  const absolute = resolve(path);
  const prefix = `failed to load Kubelet config file ${path}, error `;
  const text = readText(
    absolute,
    (why) => `${prefix}failed to read kubelet config file ${goQuote(absolute)}, error: ${why}`,
  );
  if (text === "") throw new FileFault(`${prefix}kubelet config file ${goQuote(absolute)} was empty`);
  try {
    const { value, duplicateKeys } = readDocument(text);
    requireKind(value, text);
    requireOurs(value);
    const decoded = decodeConfiguration(value);
    return {
      written: resolvePaths(decoded.written, dirname(absolute)),
      strictFault: strictFault(decoded, duplicateKeys),
    };
  } catch (error) {
    if (error instanceof WrongKind) throw new FileFault(prefix + error.message, { cause: error });
    if (isContentFault(error)) throw new FileFault(`${prefix}failed to decode: ${error.message}`, { cause: error });
    throw error;
  }
}

/** A kind of the same API group other than KubeletConfiguration. */
class WrongKind extends Error {}

function requireOurs({ apiVersion, kind }: Readonly<Record<string, unknown>>): void {
  if (apiVersion === API_VERSION && kind === KIND) return;
  if (apiVersion === API_VERSION && (kind === "CredentialProviderConfig" || kind === "SerializedNodeConfigSource")) {
    throw new WrongKind(`failed to cast object to KubeletConfiguration, unexpected type: ${apiVersion}, Kind=${kind}`);
  }
  throw new DecodeFault(`no kind ${goQuote(String(kind))} is registered for version ${goQuote(String(apiVersion))}`);
}

function strictFault({ unknownFields }: Decoded, duplicateKeys: readonly string[]): string | undefined {
  const duplicates = duplicateKeys.length > 0 ? [`yaml: unmarshal errors:\n  ${duplicateKeys.join("\n  ")}`] : [];
  const faults = [...duplicates, ...unknownFields.map((path) => `unknown field ${goQuote(path)}`)];
  return faults.length > 0 ? `strict decoding error: ${faults.join(", ")}` : undefined;
}

function resolvePaths(written: WrittenConfiguration, directory: string): WrittenConfiguration {
  const resolved = FIELD_PATHS.flatMap((path) => {
    const value = written[path];
    const relative = fieldOf(path).isPath && typeof value === "string" && value !== "" && !isAbsolute(value);
    return relative ? [[path, join(directory, value)] as const] : [];
  });
  return { ...written, ...Object.fromEntries(resolved) };
}

export interface DropIn {
  readonly path: string;
  readonly document: Readonly<Record<string, unknown>>;
}

export interface DropIns {
  readonly dropIns: readonly DropIn[];
  readonly skipped: readonly string[];
}

export function loadDropIns(directory: string): DropIns {
  const prefix = `failed to merge kubelet configs: failed to walk through kubelet dropin directory ${goQuote(directory)}: `;
  const dropIns: DropIn[] = [];
  const skipped: string[] = [];
  for (const path of filesBelow(directory, prefix)) {
    if (path.endsWith(".conf")) dropIns.push({ path, document: loadDropIn(path, prefix) });
    else skipped.push(path);
  }
  return { dropIns, skipped };
}

/** Lists files in lexical order of each directory. A link to a directory counts as a file, as in Go's walk. */
function filesBelow(directory: string, prefix: string): readonly string[] {
  if (!statSync(directory, { throwIfNoEntry: false })) {
    throw new FileFault(`${prefix}lstat ${directory}: no such file or directory`);
  }
  const walk = (at: string): readonly string[] =>
    readdirSync(at, { withFileTypes: true })
      .toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
      .flatMap((entry) => (entry.isDirectory() ? walk(join(at, entry.name)) : [join(at, entry.name)]));
  return walk(directory);
}

function loadDropIn(path: string, prefix: string): Readonly<Record<string, unknown>> {
  const start = `${prefix}failed to load kubelet dropin file, path: ${path}, `;
  const absolute = resolve(path);
  const text = readText(
    absolute,
    (why) => `${start}error: failed to read drop-in kubelet config file ${goQuote(absolute)}, error: ${why}`,
  );
  if (text === "") throw new FileFault(`${start}error: kubelet config file ${goQuote(absolute)} was empty`);
  try {
    const { value } = readDocument(text);
    requireKind(value, text);
    if (value["apiVersion"] === API_VERSION && value["kind"] === KIND) return value;
    const apiVersion = String(value["apiVersion"]);
    const group = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
    throw new FileFault(`${start}unknown apiVersion/kind: ${group}, Kind=${String(value["kind"])}`);
  } catch (error) {
    if (isContentFault(error)) throw new FileFault(`${start}error: ${error.message}`, { cause: error });
    throw error;
  }
}

const isContentFault = (error: unknown): error is Error =>
  error instanceof DecodeFault || error instanceof DocumentFault;

function readText(path: string, describe: (why: string) => string): string {
  try {
    const content = readFileSync(path);
    if (content.length > CONFIGURATION_BYTES_MAX) throw new Error(`larger than ${CONFIGURATION_BYTES_MAX} bytes`);
    return content.toString("utf8");
  } catch (error) {
    throw new FileFault(describe(reasonOf(error, path)), { cause: error });
  }
}

const ERRNO: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EISDIR: "is a directory",
};

export function reasonOf(error: unknown, path: string): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "EISDIR") return `read ${path}: ${ERRNO[code]}`;
  return code in ERRNO ? `open ${path}: ${ERRNO[code]}` : String(error instanceof Error ? error.message : error);
}
