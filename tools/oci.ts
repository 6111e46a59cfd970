/**
 * Container images as files, without a container engine: layers as tar, an OCI archive for `ctr images import`, and the same image
 * laid out as a registry's storage. Deterministic: the same inputs give the same digests. A layer that several images share is made
 * once and stored once.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

interface Owner {
  readonly uid?: number;
  /** The same as the uid when left out. */
  readonly gid?: number;
}

export type LayerEntry =
  | ({
      readonly kind: "file";
      readonly path: string;
      readonly mode: number;
      readonly content: Uint8Array;
    } & Owner)
  | ({ readonly kind: "directory"; readonly path: string; readonly mode: number } & Owner)
  /** Points at a file earlier in the same layer. */
  | { readonly kind: "hardLink"; readonly path: string; readonly target: string }
  | { readonly kind: "symlink"; readonly path: string; readonly target: string };

/** A layer as it is stored, and the digest of what it unpacks to. */
export interface Layer {
  readonly mediaType: string;
  readonly diffId: string;
  readonly blob: Blob;
}

export interface ImageSource {
  /** Every name it is known by, with tag. */
  readonly names: readonly string[];
  /** From the lowest up. Give images that share a layer the same `Layer`. */
  readonly layers: readonly (Layer | readonly LayerEntry[])[];
  /** For which machines, by Debian's name; amd64 unless given. */
  readonly architecture?: string;
  readonly config: {
    readonly Entrypoint?: readonly string[];
    readonly Cmd?: readonly string[];
    readonly Env?: readonly string[];
    readonly User?: string;
    readonly WorkingDir?: string;
    readonly Labels?: Readonly<Record<string, string>>;
    readonly StopSignal?: string;
  };
}

interface Blob {
  readonly digest: string;
  readonly content: Uint8Array;
}

export interface BuiltImage {
  readonly names: readonly string[];
  readonly manifest: Blob;
  readonly blobs: readonly Blob[];
}

const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";

export function plainLayer(entries: readonly LayerEntry[]): Layer {
  const content = blob(tar(entries));
  return { mediaType: "application/vnd.oci.image.layer.v1.tar", diffId: content.digest, blob: content };
}

/** A layer that was packed elsewhere: gzip of a tar whose digest is `diffId`. */
export const gzipLayer = (gzip: Uint8Array, diffId: string): Layer => ({
  mediaType: "application/vnd.oci.image.layer.v1.tar+gzip",
  diffId,
  blob: blob(gzip),
});

export function buildImage({ names, layers, architecture = "amd64", config }: ImageSource): BuiltImage {
  const built = layers.map((layer) => ("diffId" in layer ? layer : plainLayer(layer)));
  const configBlob = blob(
    json({
      architecture,
      os: "linux",
      config,
      rootfs: { type: "layers", diff_ids: built.map(({ diffId }) => diffId) },
    }),
  );
  const manifest = blob(
    json({
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: descriptor("application/vnd.oci.image.config.v1+json", configBlob),
      layers: built.map((layer) => descriptor(layer.mediaType, layer.blob)),
    }),
  );
  return { names, manifest, blobs: [configBlob, ...built.map((layer) => layer.blob)] };
}

/** An archive that `ctr images import` takes, with the image under each of its names. */
export function ociArchive({ names, manifest, blobs }: BuiltImage): Uint8Array {
  const manifests = names.map((name) => ({
    ...descriptor(MANIFEST_TYPE, manifest),
    annotations: { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name },
  }));
  const file = (path: string, content: Uint8Array): LayerEntry => ({ kind: "file", path, mode: 0o644, content });
  return tar([
    file("oci-layout", json({ imageLayoutVersion: "1.0.0" })),
    file("index.json", json({ schemaVersion: 2, manifests })),
    ...[manifest, ...blobs].map(({ digest, content }) => file(`blobs/sha256/${digest.slice(7)}`, content)),
  ]);
}

/** Adds the image to a registry's storage directory, in the layout its filesystem driver reads. */
export async function addToRegistryStorage({ names, manifest, blobs }: BuiltImage, storage: string): Promise<void> {
  const root = join(storage, "docker", "registry", "v2");
  const put = async (path: string, content: Uint8Array | string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  for (const { digest, content } of [manifest, ...blobs]) {
    const hex = digest.slice(7);
    const path = `blobs/sha256/${hex.slice(0, 2)}/${hex}/data`;
    if (!existsSync(join(root, path))) await put(path, content);
  }
  for (const name of names) {
    const { repository, tag } = splitName(name);
    const directory = `repositories/${repository}`;
    for (const { digest } of blobs) await put(`${directory}/_layers/sha256/${digest.slice(7)}/link`, digest);
    await put(`${directory}/_manifests/revisions/sha256/${manifest.digest.slice(7)}/link`, manifest.digest);
    await put(`${directory}/_manifests/tags/${tag}/current/link`, manifest.digest);
    await put(`${directory}/_manifests/tags/${tag}/index/sha256/${manifest.digest.slice(7)}/link`, manifest.digest);
  }
}

/** `registry.k8s.io/a/b:1` → repository `a/b`, tag `1`. */
function splitName(name: string): { readonly repository: string; readonly tag: string } {
  const match = /^[^/]+\/(?<repository>.+):(?<tag>[^:/]+)$/.exec(name);
  const { repository, tag } = match?.groups ?? {};
  if (repository === undefined || tag === undefined) throw new Error(`not a full image name with a tag: ${name}`);
  return { repository, tag };
}

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

const blob = (content: Uint8Array): Blob => ({ digest: digestOf(content), content });

export const digestOf = (content: Uint8Array) => `sha256:${createHash("sha256").update(content).digest("hex")}`;

const descriptor = (mediaType: string, { digest, content }: Blob) => ({ mediaType, digest, size: content.length });

const BLOCK_BYTES = 512;

function tar(entries: readonly LayerEntry[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    parts.push(tarHeader(entry));
    if (entry.kind !== "file") continue;
    parts.push(entry.content);
    const rest = entry.content.length % BLOCK_BYTES;
    if (rest > 0) parts.push(new Uint8Array(BLOCK_BYTES - rest));
  }
  parts.push(new Uint8Array(2 * BLOCK_BYTES));
  return Buffer.concat(parts);
}

function tarHeader(entry: LayerEntry): Uint8Array {
  const header = Buffer.alloc(BLOCK_BYTES);
  const { name, prefix } = splitPath(entry.kind === "directory" ? `${entry.path}/` : entry.path);
  const octal = (value: number, offset: number, width: number) =>
    header.write(`${value.toString(8).padStart(width - 1, "0")}\0`, offset);
  header.write(name, 0);
  octal(modeOf(entry), 100, 8);
  const { uid = 0, gid = uid }: Owner = "mode" in entry ? entry : {};
  octal(uid, 108, 8);
  octal(gid, 116, 8);
  octal(entry.kind === "file" ? entry.content.length : 0, 124, 12);
  octal(0, 136, 12);
  header.write({ file: "0", hardLink: "1", symlink: "2", directory: "5" }[entry.kind], 156);
  if ("target" in entry) header.write(entry.target, 157);
  header.write("ustar\x0000", 257);
  header.write(prefix, 345);
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

function modeOf(entry: LayerEntry): number {
  if ("mode" in entry) return entry.mode;
  // A hard link's entry sets the mode of the shared file, so it must be that of a program.
  return entry.kind === "hardLink" ? 0o755 : 0o777;
}

const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

/** A path too long for the header's field is cut at a slash; what is before it goes to a second field. */
function splitPath(path: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { name: path, prefix: "" };
  const cut = path.indexOf("/", path.length - NAME_BYTES - 1);
  const [prefix, name] = [path.slice(0, cut), path.slice(cut + 1)];
  const fits =
    cut > 0 && name !== "" && Buffer.byteLength(name) <= NAME_BYTES && Buffer.byteLength(prefix) <= PREFIX_BYTES;
  if (!fits) throw new Error(`too long for a plain tar header: ${path}`);
  return { name, prefix };
}
