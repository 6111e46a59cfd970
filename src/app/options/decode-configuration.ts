/**
 * Decodes a document as KubeletConfiguration v1beta1, and encodes it. Unknown fields are listed; a value of another
 * type throws.
 */
import { formatGoDuration } from "../../base/duration.ts";
import { formatQuantity } from "../../base/quantity.ts";
import { decodeLeaf } from "./decode-leaf.ts";
import { DecodeFault, isObject, mismatch } from "./decode-primitives.ts";
import { FIELD_PATHS, type FieldPath, fieldOf, type WrittenConfiguration } from "./fields.ts";
import { isEmptyCollection, isZero, type Value } from "./value-types.ts";

export const API_VERSION = "kubelet.config.k8s.io/v1beta1";
export const KIND = "KubeletConfiguration";

type Branch = Map<string, Branch | FieldPath>;

const TREE: Branch = new Map();
for (const path of FIELD_PATHS) {
  const steps = path.split(".");
  let branch = TREE;
  for (const step of steps.slice(0, -1)) {
    const next = branch.get(step) ?? new Map<string, Branch | FieldPath>();
    branch.set(step, next);
    branch = next as Branch;
  }
  branch.set(steps.at(-1) ?? "", path);
}

/** Go's names of the nested structs, which its messages contain. */
const STRUCTS: Readonly<Record<string, string>> = {
  authentication: "KubeletAuthentication",
  "authentication.x509": "KubeletX509Authentication",
  "authentication.webhook": "KubeletWebhookAuthentication",
  "authentication.anonymous": "KubeletAnonymousAuthentication",
  authorization: "KubeletAuthorization",
  "authorization.webhook": "KubeletWebhookAuthorization",
  crashLoopBackOff: "CrashLoopBackOffConfig",
  logging: "LoggingConfiguration",
  "logging.options": "FormatOptions",
  "logging.options.text": "TextOptions",
  "logging.options.json": "JSONOptions",
  memorySwap: "MemorySwapConfiguration",
  tracing: "TracingConfiguration",
  userNamespaces: "UserNamespaces",
};

export interface Decoded {
  readonly written: WrittenConfiguration;
  readonly unknownFields: readonly string[];
}

export function decodeConfiguration(document: Readonly<Record<string, unknown>>): Decoded {
  const written = new Map<FieldPath, Value>();
  const unknownFields: string[] = [];
  const unknown = (path: string) => void unknownFields.push(path);
  const walk = (object: Readonly<Record<string, unknown>>, branch: Branch, prefix: string) => {
    for (const key of Object.keys(object).toSorted()) {
      const path = prefix === "" ? key : `${prefix}.${key}`;
      const node = branch.get(key);
      const raw = object[key];
      const place = { go: `${prefix === "" ? KIND : (STRUCTS[prefix] ?? KIND)}.${path}`, path, unknown };
      if (prefix === "" && (key === "apiVersion" || key === "kind")) continue;
      if (node === undefined) unknown(path);
      else if (raw === null) continue;
      else if (typeof node === "string") written.set(node, decodeLeaf(raw, fieldOf(node), place));
      else if (isObject(raw)) walk(raw, node, path);
      else mismatch(raw, place, STRUCTS[path] === undefined ? "struct" : `v1beta1.${STRUCTS[path]}`);
    }
  };
  walk(document, TREE, "");
  return { written: Object.fromEntries(written), unknownFields };
}

/**
 * Throws unless the document has a kind and an apiVersion. `source` is its text, which the message repeats as Go's
 * does.
 */
export function requireKind(document: unknown, source: string): asserts document is Readonly<Record<string, unknown>> {
  if (!isObject(document)) {
    const kind = Array.isArray(document) ? "array" : typeof document === "bigint" ? "number" : typeof document;
    throw new DecodeFault(`couldn't get version/kind; json parse error: json: cannot unmarshal ${kind} into Go value`);
  }
  const { apiVersion, kind } = document as { readonly apiVersion?: unknown; readonly kind?: unknown };
  if (typeof kind !== "string" || kind === "") throw new DecodeFault(`Object 'Kind' is missing in '${source}'`);
  if (typeof apiVersion !== "string" || apiVersion === "") {
    throw new DecodeFault(`Object 'apiVersion' is missing in '${source}'`);
  }
}

/** Structs that Go omits as a whole. It writes the others even if they are empty. */
const OPTIONAL: ReadonlySet<string> = new Set(["tracing", "userNamespaces"]);

function emptyDocument(branch: Branch = TREE): Record<string, unknown> {
  const parts = [...branch].flatMap(([key, part]) =>
    typeof part === "string" || OPTIONAL.has(key) ? [] : [[key, emptyDocument(part)] as const],
  );
  return Object.fromEntries(parts);
}

/** Go writes these fields even if they are zero. */
const writesZero = (path: FieldPath): boolean => {
  const { type, keepsZero } = fieldOf(path);
  return keepsZero || type === "duration" || type === "quantity" || path === "logging.verbosity";
};

/** Encodes the values as a document, and omits what Go omits when it writes JSON. */
export function encodeConfiguration(
  values: Readonly<Partial<Record<FieldPath, Value | undefined>>>,
): Readonly<Record<string, unknown>> {
  const root: Record<string, unknown> = { kind: KIND, apiVersion: API_VERSION, ...emptyDocument() };
  for (const path of FIELD_PATHS) {
    const value = values[path];
    if (value === undefined || isEmptyCollection(value) || (!writesZero(path) && isZero(value))) continue;
    const steps = path.split(".");
    let object = root;
    for (const step of steps.slice(0, -1)) object = (object[step] ??= {}) as Record<string, unknown>;
    object[steps.at(-1) ?? ""] = encodeValue(value, path);
  }
  return root;
}

export function encodeValue(value: Value, path: FieldPath): unknown {
  const { type } = fieldOf(path);
  if (type === "duration" || type === "durationOrNs") return formatGoDuration(value as bigint);
  return plain(value);
}

/** Quantities become text; integers become numbers if JSON can hold them. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  if ("nanos" in value && "format" in value)
    return formatQuantity(value as unknown as Parameters<typeof formatQuantity>[0]);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, plain(item)]),
  );
}
