/**
 * Selects the credentials for pulling an image: all that match, to be tried in turn. Those of the pod's Secrets come
 * before those of the node. Within each, a longer path and a longer name come first. If none match, the pull is
 * anonymous; there is no anonymous attempt after credentials failed.
 */
import type { Secret } from "../../api/gen/core-v1.ts";
import { decodeBase64 } from "../../base/base64.ts";
import { utf8Text } from "../../base/utf8.ts";
import type { RegistryCredentials } from "../runtime/image.ts";
import { type DockerConfigForm, type Logins, type ParsedLogins, parseDockerConfig } from "./docker-config.ts";
import { normalPlace, placeMatches } from "./registry-place.ts";

/** `ofPod` and `ofNode` are the logins of each Secret and of each file, in order. */
export const credentialsFor = (
  repository: string,
  { ofPod, ofNode }: { readonly ofPod: readonly Logins[]; readonly ofNode: readonly Logins[] },
): readonly RegistryCredentials[] => [...matching(repository, ofPod), ...matching(repository, ofNode)];

/** The older name of the default registry matches it if no other place does. */
const DEFAULT_PLACE = "index.docker.io";

function matching(repository: string, sources: readonly Logins[]): readonly RegistryCredentials[] {
  const byPlace = new Map<string, RegistryCredentials[]>();
  for (const [written, { username, password }] of sources.flat()) {
    const place = normalPlace(written);
    if (place === undefined) continue;
    const known = byPlace.get(place);
    if (known === undefined) byPlace.set(place, [{ username, password }]);
    else known.push({ username, password });
  }
  const places = [...byPlace.keys()].sort().toReversed();
  const found = places.filter((place) => placeMatches(place, repository)).flatMap((place) => byPlace.get(place) ?? []);
  return found.length > 0 || !isOfDefaultRegistry(repository) ? found : (byPlace.get(DEFAULT_PLACE) ?? []);
}

/** Like the Go kubelet: a first part without dot or port is not a registry, although "localhost" is one. */
function isOfDefaultRegistry(repository: string): boolean {
  const [first = ""] = repository.split("/", 1);
  return first === "docker.io" || first === DEFAULT_PLACE || !/[.:]/.test(first);
}

const FORMS: ReadonlyMap<string, readonly [key: string, form: DockerConfigForm]> = new Map([
  ["kubernetes.io/dockerconfigjson", [".dockerconfigjson", "config.json"]],
  ["kubernetes.io/dockercfg", [".dockercfg", ".dockercfg"]],
]);

/** A Secret of another type, or an empty one, has no logins and is not an error. */
export function loginsOfSecret({ type, data = {} }: Secret): ParsedLogins {
  const nothing: ParsedLogins = { kind: "logins", logins: [] };
  const [key, form] = FORMS.get(type ?? "") ?? [];
  if (key === undefined || form === undefined || !Object.hasOwn(data, key)) return nothing;
  const decoded = decodeBase64(data[key] ?? "", "padded");
  if (decoded.kind === "bytes" && decoded.bytes.length === 0) return nothing;
  return parseDockerConfig(decoded.kind === "bytes" ? (utf8Text(decoded.bytes) ?? "") : "", form);
}
