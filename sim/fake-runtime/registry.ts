/** Registries of the simulated world: which images there are, who may pull them, and how long that takes. One serves all nodes. */
import type { RegistryCredentials } from "../../src/domain/runtime/image.ts";

export interface RegistryImage {
  /** Of the image's configuration: its id on a node. */
  readonly id: string;
  /** Of its manifest. */
  readonly digest: string;
  readonly sizeBytes: bigint;
  readonly uid?: bigint;
  readonly username?: string;
}

export type Finding =
  | { readonly kind: "image"; readonly image: RegistryImage; readonly pullMs: number }
  | { readonly kind: "notFound" | "unauthorized" | "unreachable" };

/** An image's name in parts; undefined where it is none. */
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
  readonly #guards = new Map<string, { readonly username: string; readonly password: string }>();
  readonly #away = new Set<string>();
  /** For the world: how long a pull takes. */
  pullMs: (name: ImageName) => number = () => 0;

  /** Puts an image there, under `host/path:tag`. */
  add(text: string, image: Partial<RegistryImage> = {}): RegistryImage {
    const { host, path, tag = "" } = parseImageName(text) ?? {};
    // One path holds one image, in whatever registry.
    const hash = digestOf(`${path}:${tag}`);
    const added = { id: `sha256:${hash}`, digest: `sha256:${digestOf(hash)}`, sizeBytes: 5_000_000n, ...image };
    this.#tags.set(`${host}/${path}:${tag}`, added);
    return added;
  }

  guard(host: string, username: string, password: string): void {
    this.#guards.set(host, { username, password });
  }

  /** The registry of this host does not answer, or does again. */
  setAway(host: string, isAway: boolean): void {
    if (isAway) this.#away.add(host);
    else this.#away.delete(host);
  }

  find(name: ImageName, credentials: RegistryCredentials | undefined): Finding {
    const { host, path, tag, digest } = name;
    const prefix = `${host}/`;
    const isKnown = [...this.#tags.keys()].some((key) => key.startsWith(prefix));
    if (this.#away.has(host) || !isKnown) return { kind: "unreachable" };
    const guard = this.#guards.get(host);
    if (guard !== undefined && !opens(guard, credentials)) return { kind: "unauthorized" };
    const image =
      digest === undefined
        ? this.#tags.get(`${host}/${path}:${tag}`)
        : [...this.#tags].find(([key, found]) => key.startsWith(`${host}/${path}:`) && found.digest === digest)?.[1];
    return image === undefined ? { kind: "notFound" } : { kind: "image", image, pullMs: this.pullMs(name) };
  }
}

function opens(
  { username, password }: { readonly username: string; readonly password: string },
  credentials: RegistryCredentials | undefined,
): boolean {
  const { auth } = credentials ?? {};
  const [user = "", secret = ""] =
    auth === undefined
      ? [credentials?.username, credentials?.password]
      : Buffer.from(auth, "base64").toString("utf8").split(":");
  return user === username && secret === password;
}

/** 64 hexadecimal digits from a text: enough to tell images apart. */
function digestOf(text: string): string {
  let digits = "";
  for (let round = 0; digits.length < 64; round += 1) {
    let value = 0x811c9dc5 + round * 0x9e3779b9;
    for (const char of text) value = Math.imul(value ^ (char.codePointAt(0) ?? 0), 0x01000193);
    digits += (value >>> 0).toString(16).padStart(8, "0");
  }
  return digits;
}
