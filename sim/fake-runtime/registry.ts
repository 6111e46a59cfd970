/**
 * Registries of the simulated world: their images, who may pull them, and how long pulls take. One instance serves all
 * nodes.
 */
import type { RegistryCredentials } from "../../src/domain/runtime/image.ts";

export interface RegistryImage {
  /** Digest of the image's configuration: the image ID on a node. */
  readonly id: string;
  /** Digest of the image's manifest. */
  readonly digest: string;
  readonly sizeBytes: bigint;
  readonly uid?: bigint;
  readonly username?: string;
}

export type Finding =
  | { readonly kind: "image"; readonly image: RegistryImage; readonly pullMs: number }
  /** `why` is containerd's wording. */
  | { readonly kind: "notFound" | "unauthorized" | "unreachable"; readonly why: string };

/** An image name in parts. `parseImageName` returns undefined for an invalid name. */
export interface ImageName {
  readonly host: string;
  readonly path: string;
  readonly tag?: string;
  readonly digest?: string;
}

const NAME =
  /^(?<repository>[a-z0-9]+(?:[._:/-]+[a-z0-9]+)*?)(?::(?<tag>[\w][\w.-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/;

export function parseImageName(text: string): ImageName | undefined {
  const { repository, tag, digest } = NAME.exec(text)?.groups ?? {};
  if (repository === undefined || repository.includes("//")) return undefined;
  const [first = "", ...rest] = repository.split("/");
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const host = hasHost ? first : "docker.io";
  const inside = hasHost ? rest.join("/") : repository;
  const path = host === "docker.io" && !inside.includes("/") ? `library/${inside}` : inside;
  if (digest !== undefined) return { host, path, digest, ...(tag !== undefined && { tag }) };
  return { host, path, tag: tag ?? "latest" };
}

export class FakeRegistry {
  readonly #tags = new Map<string, RegistryImage>();
  readonly #guards = new Map<string, Guard[]>();
  readonly #away = new Set<string>();
  /** For the world: how long a pull takes. */
  pullMs: (name: ImageName, image: RegistryImage) => number = () => 0;

  /** Adds an image under `host/path:tag`. */
  add(text: string, image: Partial<RegistryImage> = {}): RegistryImage {
    const { host, path, tag = "" } = parseImageName(text) ?? {};
    // The same path and tag hold the same image in every registry.
    const hash = digestOf(`${path}:${tag}`);
    const added = { id: `sha256:${hash}`, digest: `sha256:${digestOf(hash)}`, sizeBytes: 5_000_000n, ...image };
    this.#tags.set(`${host}/${path}:${tag}`, added);
    return added;
  }

  /** Requires a login to pull from the place, a host or a host with a path, and below. Each call adds a login. */
  guard(place: string, username: string, password: string): void {
    this.#guards.set(place, [...(this.#guards.get(place) ?? []), { username, password }]);
  }

  /** Makes the duration of a pull proportional to the image's size. */
  setBytesPerSecond(bytes: number): void {
    this.pullMs = (_name, { sizeBytes }) => (Number(sizeBytes) * 1_000) / bytes;
  }

  /** Takes the registry of this host offline or back online. */
  setAway(host: string, isAway: boolean): void {
    if (isAway) this.#away.add(host);
    else this.#away.delete(host);
  }

  find(name: ImageName, credentials: RegistryCredentials | undefined): Finding {
    const { host, path, tag, digest } = name;
    const prefix = `${host}/`;
    const isKnown = [...this.#tags.keys()].some((key) => key.startsWith(prefix));
    const address = `https://${host}/v2/${path}/manifests/${digest ?? tag}`;
    if (this.#away.has(host) || !isKnown) {
      const [bare = host] = host.split(":");
      const why = this.#away.has(host) ? "connect: connection refused" : `lookup ${bare}: no such host`;
      return { kind: "unreachable", why: `failed to do request: Head "${address}": dial tcp: ${why}` };
    }
    const guards = this.#guardsOf(`${host}/${path}`);
    if (guards.length > 0 && !guards.some((guard) => opens(guard, credentials))) {
      const why =
        credentials === undefined
          ? "pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials"
          : `unexpected status from HEAD request to ${address}: 401 Unauthorized`;
      return { kind: "unauthorized", why };
    }
    const image =
      digest === undefined
        ? this.#tags.get(`${host}/${path}:${tag}`)
        : [...this.#tags].find(([key, found]) => key.startsWith(`${host}/${path}:`) && found.digest === digest)?.[1];
    if (image !== undefined) return { kind: "image", image, pullMs: this.pullMs(name, image) };
    return { kind: "notFound", why: `${fullName(name)}: not found` };
  }

  /** The logins of the longest place that contains the repository. */
  #guardsOf(repository: string): readonly Guard[] {
    const places = [...this.#guards.keys()].filter((place) => `${repository}/`.startsWith(`${place}/`));
    const longest = places.sort((a, b) => b.length - a.length)[0];
    return longest === undefined ? [] : (this.#guards.get(longest) ?? []);
  }
}

interface Guard {
  readonly username: string;
  readonly password: string;
}

/** The full name under which a registry serves the image. */
export const fullName = ({ host, path, tag, digest }: ImageName): string =>
  `${host}/${path}${digest === undefined ? `:${tag}` : `@${digest}`}`;

function opens({ username, password }: Guard, credentials: RegistryCredentials | undefined): boolean {
  const { auth } = credentials ?? {};
  const [user = "", secret = ""] =
    auth === undefined
      ? [credentials?.username, credentials?.password]
      : Buffer.from(auth, "base64").toString("utf8").split(":");
  return user === username && secret === password;
}

/** 64 hexadecimal digits from a text: enough to distinguish images. */
function digestOf(text: string): string {
  let digits = "";
  for (let round = 0; digits.length < 64; round += 1) {
    let value = 0x811c9dc5 + round * 0x9e3779b9;
    for (const char of text) value = Math.imul(value ^ (char.codePointAt(0) ?? 0), 0x01000193);
    digits += (value >>> 0).toString(16).padStart(8, "0");
  }
  return digits;
}
