/**
 * Builds the container image as an OCI archive: the executable, the programs of this machine's Debian that it calls
 * (mount, flock, ...), and the libraries that all of them link, each at its usual path and with its package's license.
 * Nothing else: no shell but dash, no package manager. The same program on the same Debian gives the same bytes.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { sha256OfFile } from "../build/contents.ts";
import { type DebianFile, withDebianFiles } from "../build/embedded-docs.ts";
import { buildImage, gzipLayer, type Layer, type LayerEntry, ociArchive, plainLayer } from "../oci.ts";

/** The programs that the agent runs: to mount volumes, lock its directory and look up users of pods. */
const CALLED = ["/bin/cat", "/bin/mount", "/bin/sh", "/bin/umount", "/usr/bin/flock"];
const PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";

export interface ImageParts {
  readonly executable: string;
  readonly docs: Readonly<Record<string, string>>;
  readonly version: string;
  /** Debian's architecture name, which is also the image's. */
  readonly architecture: string;
}

export const imageName = (version: string): string => `docker.io/deckhand/deckhand:${version}`;

/** Returns the path of the archive. */
export function buildImageArchive({ executable, docs, version, architecture }: ImageParts, directory: string): string {
  const called = CALLED.map((path) => fileEntry(path, 0o755));
  const libraries = [...new Set([executable, ...CALLED].flatMap(librariesOf))].toSorted();
  const system = [...called, ...libraries.map((path) => fileEntry(path, 0o755))];
  const held = [...CALLED, ...libraries].map(debianFile);
  const packages = [...new Set(held.map((file) => file.package))].toSorted();
  const terms = packages.map((name) => fileEntry(`/usr/share/doc/${name}/copyright`, 0o644));
  const bill = withDebianFiles(docs["sbom.cdx.json"] ?? "", held, architecture);
  const docEntries = Object.entries({ ...docs, "sbom.cdx.json": bill }).map(
    ([name, text]): LayerEntry => ({
      kind: "file",
      path: `usr/share/doc/deckhand/${name}`,
      mode: 0o644,
      content: new TextEncoder().encode(text),
    }),
  );
  const program: LayerEntry[] = [
    { kind: "file", path: "usr/bin/deckhand", mode: 0o755, content: readFileSync(executable) },
    { kind: "symlink", path: "usr/bin/kubelet", target: "deckhand" },
  ];
  // System files change rarely: in a separate layer they are pulled once for many versions.
  const layers = [
    [...system, ...terms],
    [...program, ...docEntries],
  ].map((entries) => packed([...directoriesOf(entries), ...entries]));
  const image = buildImage({
    names: [imageName(version)],
    layers,
    architecture,
    config: {
      Entrypoint: ["/usr/bin/deckhand"],
      Cmd: ["kubelet"],
      Env: [PATH],
      Labels: { "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0" },
    },
  });
  const output = join(directory, `deckhand-${version}-${architecture}.oci.tar`);
  writeFileSync(output, ociArchive(image));
  return output;
}

function packed(entries: readonly LayerEntry[]): Layer {
  const { diffId, blob } = plainLayer(entries);
  return gzipLayer(gzipSync(blob.content), diffId);
}

/** A file of this machine, at the same path in the image. */
export const fileEntry = (path: string, mode: number): LayerEntry => ({
  kind: "file",
  path: path.slice(1),
  mode,
  content: readFileSync(path),
});

/** Libraries where the loader finds them on this machine, including the loader itself. */
export function librariesOf(program: string): readonly string[] {
  const said = execFileSync("ldd", [program], { encoding: "utf8" });
  return [...said.matchAll(/(?:=> |^\s)(?<path>\/\S+) \(0x/gm)].map(({ groups }) => groups?.["path"] ?? "");
}

/** dpkg may know a file by its path through the symlinks /lib or /bin, or by its real path. */
function debianFile(path: string): DebianFile {
  const real = realpathSync(path);
  const spellings = new Set([path, real, real.replace(/^\/usr/, ""), join(dirname(path), basename(real))]);
  for (const spelling of spellings) {
    const name = ownerOf(spelling);
    if (name === undefined) continue;
    return { path, hash: sha256OfFile(path), package: name, version: versionOf(name) };
  }
  throw new Error(`no package of Debian's has ${path}: under which terms it may be passed on is not known`);
}

const versionOf = (name: string): string =>
  execFileSync("dpkg-query", ["--show", "--showformat", "${Version}\n", name], { encoding: "utf8" }).split("\n")[0] ??
  "";

function ownerOf(path: string): string | undefined {
  try {
    const said = execFileSync("dpkg-query", ["--search", path], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return /^(?<name>[a-z0-9.+-]+)(?::\w+)?: /m.exec(said)?.groups?.["name"];
  } catch {
    return undefined; // dpkg does not know this path; the caller tries others.
  }
}

/** Returns each parent directory once, parents before children. */
export function directoriesOf(entries: readonly LayerEntry[]): readonly LayerEntry[] {
  const directories = new Set<string>();
  for (const { path } of entries) {
    for (let directory = dirname(path); directory !== "."; directory = dirname(directory)) directories.add(directory);
  }
  return [...directories].toSorted().map((path) => ({ kind: "directory", path, mode: 0o755 }));
}
