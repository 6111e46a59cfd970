/**
 * Image names as written in a pod: [registry/]path[:tag][@digest]. Which names are valid, and the messages for those
 * that are not, are those of the Go kubelet's parser. A name without a registry stays without one, because the runtime
 * chooses the default.
 */
import { goQuote } from "../../base/go-text.ts";

export interface ImageName {
  /** With the registry, the default one where none is written. Credentials are looked up by it. */
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

export type ParsedImageName =
  | { readonly kind: "name"; readonly name: ImageName }
  | { readonly kind: "invalid"; readonly why: string };

const DEFAULT_REGISTRY = "docker.io";
const LEGACY_REGISTRY = "index.docker.io";
const OFFICIAL = "library/";
const DEFAULT_TAG = "latest";
const PATH_LENGTH_MAX = 255;

const LABEL = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const HOST = `(?:${LABEL}(?:\\.${LABEL})*|\\[[a-fA-F0-9:]+\\])`;
const REGISTRY = `${HOST}(?::[0-9]+)?`;
const COMPONENT = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const PATH = `${COMPONENT}(?:/${COMPONENT})*`;
const TAG = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
const DIGEST = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}";

const REFERENCE = new RegExp(
  `^(?<repository>(?:${REGISTRY}/)?(?<path>${PATH}))(?::(?<tag>${TAG}))?(?:@(?<digest>${DIGEST}))?$`,
);
/** The ID of an image, which names no image of a registry. */
const IDENTIFIER = /^[a-f0-9]{64}$/;

export function parseImageName(text: string): ParsedImageName {
  const invalid = (why: string): ParsedImageName => ({
    kind: "invalid",
    why: `couldn't parse image name ${goQuote(text)}: ${why}`,
  });
  if (IDENTIFIER.test(text)) {
    return invalid(`invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`);
  }
  const { registry, rest } = split(text);
  const [written = ""] = rest.split(":", 1);
  if (written.toLowerCase() !== written) {
    return invalid(`invalid reference format: repository name (${written}) must be lowercase`);
  }
  const whole = `${registry}/${rest}`;
  const match = REFERENCE.exec(whole)?.groups;
  if (match === undefined) {
    const isOnlyCase = REFERENCE.test(whole.toLowerCase());
    return invalid(isOnlyCase ? "repository name must be lowercase" : "invalid reference format");
  }
  const { repository = "", path = "", tag, digest } = match;
  if (path.length > PATH_LENGTH_MAX) {
    return invalid(`repository name must not be more than ${PATH_LENGTH_MAX} characters`);
  }
  const fault = digest === undefined ? undefined : digestFault(digest);
  return fault === undefined ? { kind: "name", name: { repository, tag, digest } } : invalid(fault);
}

/** The name that is passed to the runtime: as written, with the default tag if there is neither a tag nor a digest. */
export const pullableName = (text: string, { tag, digest }: ImageName): string =>
  tag === undefined && digest === undefined ? `${text}:${DEFAULT_TAG}` : text;

/** The text before the first slash is a registry if it cannot be part of a path. */
function split(text: string): { readonly registry: string; readonly rest: string } {
  const slash = text.indexOf("/");
  if (slash < 0) return { registry: DEFAULT_REGISTRY, rest: OFFICIAL + text };
  const first = text.slice(0, slash);
  const isRegistry = first === "localhost" || /[.:]/.test(first) || first.toLowerCase() !== first;
  if (!isRegistry) return { registry: DEFAULT_REGISTRY, rest: text };
  const rest = text.slice(slash + 1);
  if (first !== DEFAULT_REGISTRY && first !== LEGACY_REGISTRY) return { registry: first, rest };
  return { registry: DEFAULT_REGISTRY, rest: rest.includes("/") ? rest : OFFICIAL + rest };
}

const HEX_LENGTHS: ReadonlyMap<string, number> = new Map([
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);

function digestFault(digest: string): string | undefined {
  const at = digest.indexOf(":");
  const [algorithm, hex] = [digest.slice(0, at), digest.slice(at + 1)];
  const length = HEX_LENGTHS.get(algorithm);
  if (length === undefined) {
    const isWellFormed = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*$/.test(algorithm);
    return isWellFormed ? "unsupported digest algorithm" : "invalid checksum digest format";
  }
  if (hex.length !== length) return "invalid checksum digest length";
  return /^[a-f0-9]*$/.test(hex) ? undefined : "invalid checksum digest format";
}
