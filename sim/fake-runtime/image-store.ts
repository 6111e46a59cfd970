/** The images of one node. They outlive the runtime. */
import { sleep } from "../../src/concurrency/sleep.ts";
import type { FilesystemUsage, Image, ImageSpec, RegistryCredentials } from "../../src/domain/runtime/image.ts";
import { type NodeState, refuse } from "./node-state.ts";
import { type FakeRegistry, fullName, type ImageName, parseImageName, type RegistryImage } from "./registry.ts";

const IMAGE_ROOT = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs";

interface StoredImage {
  readonly image: RegistryImage;
  readonly tags: Set<string>;
  readonly digests: Set<string>;
  readonly isPinned: boolean;
}

export class ImageStore {
  readonly #state: NodeState;
  readonly #registry: FakeRegistry;
  readonly #images = new Map<string, StoredImage>();
  /** Number of concurrent pulls, by image and credentials. */
  readonly #pulling = new Map<string, number>();

  constructor(state: NodeState, registry: FakeRegistry) {
    this.#state = state;
    this.#registry = registry;
  }

  /** For the world: adds the image as if it had been pulled. */
  load(text: string, options: { readonly isPinned?: boolean; readonly image?: Partial<RegistryImage> } = {}): void {
    const name = parseImageName(text);
    if (name === undefined) throw new Error(`${text} is no image's name`);
    this.#keep(name, this.#registry.add(text, options.image), options.isPinned ?? false);
  }

  list(): readonly Image[] {
    return [...this.#images.values()].map(asImage);
  }

  /** Finds an image by ID, tag or digest. */
  find(text: string): Image | undefined {
    const stored = this.#stored(text);
    return stored && asImage(stored);
  }

  async pull({ image }: ImageSpec, credentials: RegistryCredentials | undefined, signal: AbortSignal): Promise<string> {
    const name = parseImageName(image);
    if (name === undefined)
      throw refuse("PullImage", "unknown", `failed to parse image reference ${JSON.stringify(image)}`);
    const found = this.#registry.find(name, credentials);
    switch (found.kind) {
      case "image":
        await this.#fetch(`${fullName(name)} ${JSON.stringify(credentials ?? {})}`, found.pullMs, signal);
        this.#keep(name, found.image, false);
        return found.image.id;
      case "notFound":
      case "unauthorized":
      case "unreachable": {
        const full = JSON.stringify(fullName(name));
        const detail = `failed to pull and unpack image ${full}: failed to resolve reference ${full}: ${found.why}`;
        throw refuse("PullImage", found.kind === "notFound" ? "notFound" : "unknown", detail);
      }
    }
  }

  /** The actual concurrent pulls, for checkers. */
  get pulling(): ReadonlyMap<string, number> {
    return this.#pulling;
  }

  async #fetch(what: string, pullMs: number, signal: AbortSignal): Promise<void> {
    if (pullMs === 0) return;
    this.#pulling.set(what, (this.#pulling.get(what) ?? 0) + 1);
    try {
      await sleep(this.#state.options.clock, pullMs, signal);
    } finally {
      const left = (this.#pulling.get(what) ?? 1) - 1;
      if (left === 0) this.#pulling.delete(what);
      else this.#pulling.set(what, left);
    }
  }

  remove(text: string): void {
    if (text === "") throw refuse("RemoveImage", "unknown", "an image without a name");
    const stored = this.#stored(text);
    if (stored !== undefined) this.#images.delete(stored.image.id);
  }

  filesystems(): { readonly images: readonly FilesystemUsage[]; readonly containers: readonly FilesystemUsage[] } {
    const sizes = [...this.#images.values()].map(({ image }) => image.sizeBytes);
    const usage = {
      wallNs: this.#state.wallNs(),
      mountpoint: IMAGE_ROOT,
      usedBytes: sizes.reduce((sum, size) => sum + size, 0n),
      inodesUsed: BigInt(sizes.length) * 100n,
    };
    return { images: [usage], containers: [usage] };
  }

  #keep(name: ImageName, image: RegistryImage, isPinned: boolean): void {
    const stored = this.#images.get(image.id) ?? { image, tags: new Set(), digests: new Set(), isPinned };
    const repository = `${name.host}/${name.path}`;
    if (name.digest === undefined) stored.tags.add(`${repository}:${name.tag}`);
    stored.digests.add(`${repository}@${image.digest}`);
    this.#images.set(image.id, stored);
  }

  #stored(text: string): StoredImage | undefined {
    const byId = this.#images.get(text) ?? this.#images.get(`sha256:${text}`);
    if (byId !== undefined) return byId;
    const name = parseImageName(text);
    if (name === undefined) return undefined;
    const repository = `${name.host}/${name.path}`;
    const full = name.digest === undefined ? `${repository}:${name.tag}` : `${repository}@${name.digest}`;
    return [...this.#images.values()].find(({ tags, digests }) => tags.has(full) || digests.has(full));
  }
}

const asImage = ({ image, tags, digests, isPinned }: StoredImage): Image => ({
  id: image.id,
  tags: [...tags],
  digests: [...digests],
  sizeBytes: image.sizeBytes,
  ...(image.uid !== undefined && { uid: image.uid }),
  ...(image.username !== undefined && { username: image.username }),
  pinned: isPinned,
});
