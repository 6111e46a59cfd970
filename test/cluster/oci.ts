/**
 * Container images as files, without a container engine: layers as tar, an OCI archive for `ctr images import`, and the same image
 * laid out as a registry's storage. Deterministic: the same inputs give the same digests.
 */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export type LayerEntry =
  | {
      readonly kind: "file";
      readonly path: string;
      readonly mode: number;
      readonly content: Uint8Array;
      readonly uid?: number;
    }
  | { readonly kind: "folder"; readonly path: string; readonly mode: number; readonly uid?: number }
  /** Points at a file earlier in the same layer. */
  | { readonly kind: "hardLink"; readonly path: string; readonly target: string };

export interface ImageSource {
  /** Every name it is known by, with tag. */
  readonly names: readonly string[];
  readonly layers: readonly (readonly LayerEntry[])[];
  readonly config: {
    readonly Entrypoint?: readonly string[];
    readonly Cmd?: readonly string[];
    readonly Env?: readonly string[];
    readonly User?: string;
    readonly WorkingDir?: string;
    readonly Labels?: Readonly<Record<string, string>>;
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

export function buildImage({ names, layers, config }: ImageSource): BuiltImage {
  const layerBlobs = layers.map((entries) => blob(tar(entries)));
  const configBlob = blob(
    json({
      architecture: "amd64",
      os: "linux",
      config,
      rootfs: { type: "layers", diff_ids: layerBlobs.map(({ digest }) => digest) },
    }),
  );
  const manifest = blob(
    json({
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: descriptor("application/vnd.oci.image.config.v1+json", configBlob),
      layers: layerBlobs.map((layer) => descriptor("application/vnd.oci.image.layer.v1.tar", layer)),
    }),
  );
  return { names, manifest, blobs: [configBlob, ...layerBlobs] };
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

/** Adds the image to a registry's storage folder, in the layout its filesystem driver reads. */
export async function addToRegistryStorage({ names, manifest, blobs }: BuiltImage, storage: string): Promise<void> {
  const root = join(storage, "docker", "registry", "v2");
  const put = async (path: string, content: Uint8Array | string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  for (const { digest, content } of [manifest, ...blobs]) {
    const hex = digest.slice(7);
    await put(`blobs/sha256/${hex.slice(0, 2)}/${hex}/data`, content);
  }
  for (const name of names) {
    const { repository, tag } = splitName(name);
    const folder = `repositories/${repository}`;
    for (const { digest } of blobs) await put(`${folder}/_layers/sha256/${digest.slice(7)}/link`, digest);
    await put(`${folder}/_manifests/revisions/sha256/${manifest.digest.slice(7)}/link`, manifest.digest);
    await put(`${folder}/_manifests/tags/${tag}/current/link`, manifest.digest);
    await put(`${folder}/_manifests/tags/${tag}/index/sha256/${manifest.digest.slice(7)}/link`, manifest.digest);
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

const blob = (content: Uint8Array): Blob => ({
  digest: `sha256:${createHash("sha256").update(content).digest("hex")}`,
  content,
});

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
  const path = entry.kind === "folder" ? `${entry.path}/` : entry.path;
  if (Buffer.byteLength(path) > 100) throw new Error(`too long for a plain tar header: ${path}`);
  const octal = (value: number, offset: number, width: number) =>
    header.write(`${value.toString(8).padStart(width - 1, "0")}\0`, offset);
  header.write(path, 0);
  // A hard link's entry sets the mode of the shared file, so it must be that of a program.
  octal(entry.kind === "hardLink" ? 0o755 : entry.mode, 100, 8);
  const owner = entry.kind === "hardLink" ? 0 : (entry.uid ?? 0);
  octal(owner, 108, 8);
  octal(owner, 116, 8);
  octal(entry.kind === "file" ? entry.content.length : 0, 124, 12);
  octal(0, 136, 12);
  header.write({ file: "0", hardLink: "1", folder: "5" }[entry.kind], 156);
  if (entry.kind === "hardLink") header.write(entry.target, 157);
  header.write("ustar\x0000", 257);
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
