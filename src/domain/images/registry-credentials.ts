/**
 * Selects the credentials for pulling an image: all that match, to be tried in turn. Those of the pod's Secrets come
 * before those of the node. Within each, a longer path and a longer name come first. If none match, the pull is
 * anonymous; there is no anonymous attempt after credentials failed.
 */
import type { Secret } from "../../api/gen/core-v1.ts";
import { decodeBase64 } from "../../base/base64.ts";
import { utf8Text } from "../../base/utf8.ts";
import type { RegistryCredentials } from "../runtime/image.ts";
import {
  type CredentialsByRegistry,
  type DockerConfigForm,
  type ParsedCredentials,
  parseDockerConfig,
} from "./docker-config.ts";
import { normalRegistry, registryMatches } from "./registry-match.ts";

/** `ofPod` and `ofNode` are the credentials in each Secret and in each file, in order. */
export const credentialsFor = (
  repository: string,
  {
    ofPod,
    ofNode,
  }: { readonly ofPod: readonly CredentialsByRegistry[]; readonly ofNode: readonly CredentialsByRegistry[] },
): readonly RegistryCredentials[] => [...matching(repository, ofPod), ...matching(repository, ofNode)];

/** The older name of the default registry matches it if no other registry does. */
const DEFAULT_REGISTRY = "index.docker.io";

function matching(repository: string, sources: readonly CredentialsByRegistry[]): readonly RegistryCredentials[] {
  const byRegistry = new Map<string, RegistryCredentials[]>();
  for (const [written, { username, password }] of sources.flat()) {
    const registry = normalRegistry(written);
    if (registry === undefined) continue;
    const known = byRegistry.get(registry);
    if (known === undefined) byRegistry.set(registry, [{ username, password }]);
    else known.push({ username, password });
  }
  const registries = [...byRegistry.keys()].sort().toReversed();
  const found = registries
    .filter((registry) => registryMatches(registry, repository))
    .flatMap((registry) => byRegistry.get(registry) ?? []);
  return found.length > 0 || !isOfDefaultRegistry(repository) ? found : (byRegistry.get(DEFAULT_REGISTRY) ?? []);
}

/** Like the Go kubelet: a first part without dot or port is not a registry, although "localhost" is one. */
function isOfDefaultRegistry(repository: string): boolean {
  const [first = ""] = repository.split("/", 1);
  return first === "docker.io" || first === DEFAULT_REGISTRY || !/[.:]/.test(first);
}

const FORMS: ReadonlyMap<string, readonly [key: string, form: DockerConfigForm]> = new Map([
  ["kubernetes.io/dockerconfigjson", [".dockerconfigjson", "config.json"]],
  ["kubernetes.io/dockercfg", [".dockercfg", ".dockercfg"]],
]);

/** A Secret of another type, or an empty one, has no credentials and is not an error. */
export function credentialsOfSecret({ type, data = {} }: Secret): ParsedCredentials {
  const nothing: ParsedCredentials = { kind: "credentials", credentials: [] };
  const [key, form] = FORMS.get(type ?? "") ?? [];
  if (key === undefined || form === undefined || !Object.hasOwn(data, key)) return nothing;
  const decoded = decodeBase64(data[key] ?? "", "padded");
  if (decoded.kind === "bytes" && decoded.bytes.length === 0) return nothing;
  return parseDockerConfig(decoded.kind === "bytes" ? (utf8Text(decoded.bytes) ?? "") : "", form);
}
