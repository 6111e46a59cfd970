/**
 * The images that upstream's Conformance and NodeConformance tests and its node tests name, made without the internet
 * and served under those names. What each holds follows upstream's test/images, as far as the tests look; names that
 * must not be found are not here.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  addToRegistryStorage,
  type BuiltImage,
  buildImage,
  type ImageSource,
  type Layer,
  type LayerEntry,
  ociArchive,
  plainLayer,
} from "../../tools/oci.ts";
import {
  AGNHOST_CONFIG,
  BUSYBOX_CONFIG,
  busyboxLayer,
  COREDNS_CONFIG,
  directory,
  file,
  PATH,
  PAUSE_CONFIG,
  PIECES_SOURCES,
  pauseLayer,
  program,
  text,
} from "../cluster/image-pieces.ts";
import {
  AGNHOST_IMAGE,
  archiveName,
  BUSYBOX_IMAGE,
  COREDNS_IMAGE,
  type Images,
  PAUSE_IMAGE,
} from "../cluster/images.ts";
import { moduleDirectory, type Parts } from "../cluster/parts.ts";
import { busyboxProgram } from "./images/busybox.ts";
import { type DebianBase, debianBase, debianPackage } from "./images/debian.ts";
import { FILE_SETTINGS_SOURCE, NGINX_SETTINGS, OS_RELEASE } from "./images/file-settings.ts";
import { keyFor, made, type Report } from "./images/making.ts";

/** In the node's runtime from the start; all others are pulled. */
const IMPORTED = [PAUSE_IMAGE, BUSYBOX_IMAGE, AGNHOST_IMAGE] as const;

export async function conformanceImages(parts: Parts, report: Report): Promise<Images> {
  const [busybox, base, upstream] = await Promise.all([
    busyboxProgram(report),
    debianBase(report),
    moduleDirectory("conformance", "k8s.io/kubernetes"),
  ]);
  // One after the other: both ask apt, which has one mirror.
  const perl = await debianPackage("perl", base, report);
  const nginx = await debianPackage("nginx", base, report);
  const upstreamFiles = UPSTREAM_FILES.map((path) => join(upstream, "test", "images", path));
  const key = await keyFor(
    [...PROGRAMS.map((name) => parts.path(name)), busybox, ...upstreamFiles, ...SOURCES],
    [base, perl, nginx].map((piece) => ("diffId" in piece ? piece : piece.layer).blob.digest),
  );
  const entry = await made({ kind: "images", key, report }, async (scratch) => {
    await mkdir(join(scratch, "archives"));
    const pieces = await gather({ parts, scratch, busybox, base, perl, nginx, upstreamFiles });
    for (const [name, recipe] of Object.entries(RECIPES)) {
      const image = imageOf(name, recipe(pieces));
      await addToRegistryStorage(image, join(scratch, "registry"));
      if (isImported(name)) await writeFile(join(scratch, "archives", archiveName(image)), ociArchive(image));
    }
  });
  return {
    archives: IMPORTED.map((name) => join(entry, "archives", archiveName({ names: [name] }))),
    registryStorage: join(entry, "registry"),
  };
}

const isImported = (name: string) => (IMPORTED as readonly string[]).includes(name);

/** Each name is an image of its own: what a runtime says of one image changes with every name it is pulled by. */
const imageOf = (name: string, { layers, config }: Recipe): BuiltImage =>
  buildImage({ names: [name], layers, config: { ...config, Labels: { "deckhand.name": name } } });

const PROGRAMS = ["agnhost", "coredns", "etcd", "nnp", "sample-apiserver", "sample-device-plugin"] as const;
const SOURCES = [import.meta.filename, FILE_SETTINGS_SOURCE, ...PIECES_SOURCES];

const UPSTREAM_FILES = [
  "agnhost/porter/localhost.crt",
  "agnhost/porter/localhost.key",
  "kitten/html/kitten.jpg",
  "kitten/html/data.json",
  "nautilus/html/nautilus.jpg",
  "nautilus/html/data.json",
] as const;

interface Pieces {
  readonly pause: Layer;
  readonly busybox: Layer;
  readonly base: Layer;
  readonly coredns: Layer;
  readonly agnhost: Layer;
  readonly kitten: Layer;
  readonly nautilus: Layer;
  readonly nnp: Layer;
  readonly perl: Layer;
  readonly nginx: readonly Layer[];
  readonly sampleApiserver: Layer;
  readonly sampleDevicePlugin: Layer;
  readonly etcd: Layer;
}

type Recipe = Pick<ImageSource, "config" | "layers">;

const agnhost = ({ base, coredns, agnhost: own }: Pieces): Recipe => ({
  layers: [base, coredns, own],
  config: AGNHOST_CONFIG,
});

const picture = (own: Layer, pieces: Pieces): Recipe => ({
  layers: [...agnhost(pieces).layers, own],
  config: { ...AGNHOST_CONFIG, Cmd: ["test-webserver"] },
});

const pause = (pieces: Pieces): Recipe => ({ layers: [pieces.pause], config: PAUSE_CONFIG });
const busybox = (pieces: Pieces): Recipe => ({ layers: [pieces.busybox], config: BUSYBOX_CONFIG });

const nginx = ({ base, nginx: own }: Pieces): Recipe => ({
  layers: [base, ...own],
  config: { Cmd: ["nginx", "-g", "daemon off;"], Env: [PATH], StopSignal: "SIGQUIT" },
});

const RECIPES: Readonly<Record<string, (pieces: Pieces) => Recipe>> = {
  [PAUSE_IMAGE]: pause,
  "registry.k8s.io/pause:3.10.1": pause,
  "registry.k8s.io/pause:3.10": pause,
  [BUSYBOX_IMAGE]: busybox,
  "docker.io/library/busybox:1.36": busybox,
  // Named by node tests only.
  "registry.k8s.io/e2e-test-images/busybox:1.36.1-1": busybox,
  "registry.k8s.io/e2e-test-images/sample-device-plugin:1.7": ({ sampleDevicePlugin }) => ({
    layers: [sampleDevicePlugin],
    config: { Entrypoint: ["/sampledeviceplugin", "-alsologtostderr"], Env: [PATH] },
  }),
  [AGNHOST_IMAGE]: agnhost,
  "registry.k8s.io/e2e-test-images/agnhost:2.55": agnhost,
  "registry.k8s.io/e2e-test-images/kitten:1.8": (pieces) => picture(pieces.kitten, pieces),
  "registry.k8s.io/e2e-test-images/nautilus:1.8": (pieces) => picture(pieces.nautilus, pieces),
  "registry.k8s.io/e2e-test-images/nonroot:1.5": ({ base }) => ({
    layers: [base],
    config: { Cmd: ["bash"], Env: [PATH], User: "1234" },
  }),
  "registry.k8s.io/e2e-test-images/ipc-utils:1.4": ({ base }) => ({
    layers: [base],
    config: { Cmd: ["bash"], Env: [PATH] },
  }),
  "registry.k8s.io/e2e-test-images/glibc-dns-testing:2.0.0": ({ base, coredns }) => ({
    layers: [base, coredns],
    config: { Cmd: ["bash"], Env: [PATH] },
  }),
  "registry.k8s.io/e2e-test-images/nonewprivs:1.4": ({ busybox: lower, nnp }) => ({
    layers: [lower, nnp],
    config: { Cmd: ["nnp"], Env: [PATH] },
  }),
  "registry.k8s.io/e2e-test-images/perl:5.26": ({ base, perl }) => ({
    layers: [base, perl],
    config: { Cmd: ["perl", "-de0"], Env: [PATH] },
  }),
  "registry.k8s.io/e2e-test-images/nginx:1.15-4": nginx,
  "registry.k8s.io/e2e-test-images/nginx:1.27-0": nginx,
  "registry.k8s.io/e2e-test-images/sample-apiserver:1.29.2": ({ sampleApiserver }) => ({
    layers: [sampleApiserver],
    config: { Entrypoint: ["/sample-apiserver"], Env: [PATH] },
  }),
  "registry.k8s.io/etcd:3.6.8-0": ({ etcd }) => ({
    layers: [etcd],
    config: { Cmd: ["/usr/local/bin/etcd"], Env: [PATH] },
  }),
  // No test's own: the cluster's name server.
  [COREDNS_IMAGE]: ({ coredns }) => ({ layers: [coredns], config: COREDNS_CONFIG }),
};

export const CONFORMANCE_IMAGE_NAMES: readonly string[] = Object.keys(RECIPES);

interface Ingredients {
  readonly parts: Parts;
  readonly scratch: string;
  readonly busybox: string;
  readonly base: DebianBase;
  readonly perl: Layer;
  readonly nginx: Layer;
  readonly upstreamFiles: readonly string[];
}

async function gather(from: Ingredients): Promise<Pieces> {
  const { parts, scratch, base } = from;
  const pause = await pauseLayer(scratch);
  const upstream = (directory: string) =>
    atRoot(from.upstreamFiles.filter((path) => path.includes(`/images/${directory}/`)));
  return {
    pause,
    busybox: await busyboxLayer(from.busybox),
    base: base.layer,
    coredns: plainLayer([await program("coredns", parts.path("coredns"))]),
    agnhost: plainLayer([
      await program("agnhost", parts.path("agnhost")),
      { kind: "symlink", path: "agnhost-2", target: "agnhost" },
      directory("uploads"),
      ...(await upstream("agnhost")),
      { kind: "symlink", path: "usr/local/bin/iperf", target: "/usr/bin/iperf" },
      // Upstream's image has a busybox.
      await program("usr/local/bin/nmeter", from.busybox),
      ...agnhostUser(base),
      ...fakeRegistry("pause", "testing", imageOf(PAUSE_IMAGE, { layers: [pause], config: PAUSE_CONFIG })),
    ]),
    kitten: plainLayer([...(await upstream("kitten")), ...OS_RELEASE]),
    nautilus: plainLayer([...(await upstream("nautilus")), ...OS_RELEASE]),
    nnp: plainLayer([
      directory("usr/local"),
      directory("usr/local/bin"),
      await program("usr/local/bin/nnp", parts.path("nnp"), 0o6755),
    ]),
    perl: from.perl,
    nginx: [from.nginx, plainLayer(NGINX_SETTINGS)],
    sampleApiserver: plainLayer([
      directory("tmp", 0o1777),
      await program("sample-apiserver", parts.path("sample-apiserver")),
    ]),
    sampleDevicePlugin: plainLayer([
      directory("tmp", 0o1777),
      await program("sampledeviceplugin", parts.path("sample-device-plugin")),
    ]),
    etcd: plainLayer([
      directory("tmp", 0o1777),
      ...["usr", "usr/local", "usr/local/bin", "var", "var/lib"].map((path) => directory(path)),
      directory("var/lib/etcd", 0o700),
      await program("usr/local/bin/etcd", parts.path("etcd")),
    ]),
  };
}

const atRoot = (paths: readonly string[]): Promise<readonly LayerEntry[]> =>
  Promise.all(paths.map(async (path) => file(basename(path), await readFile(path))));

/** The tests of users and groups from the image expect these names and numbers. */
function agnhostUser({ passwd, group }: DebianBase): readonly LayerEntry[] {
  const user = "user-defined-in-image";
  return [
    text("etc/passwd", `${passwd}${user}:x:1000:1000::/home/${user}:/bin/sh\n`),
    text("etc/group", `${group}${user}:x:1000:\ngroup-defined-in-image:x:50000:${user}\n`),
    { kind: "directory", path: `home/${user}`, mode: 0o755, uid: 1000 },
  ];
}

/** An image as agnhost's fake-registry-server serves it: a tag is a file that holds the manifest's digest. */
function fakeRegistry(name: string, tag: string, { manifest, blobs }: BuiltImage): readonly LayerEntry[] {
  const root = `var/registry/${name}`;
  const stored = (kind: string, { digest, content }: BuiltImage["manifest"]): LayerEntry => {
    const hex = digest.slice("sha256:".length);
    return file(`${root}/${kind}/sha256/${hex.slice(0, 2)}/${hex}/data`, content);
  };
  const files = [
    text(`${root}/manifests/${tag}`, `${manifest.digest}\n`),
    stored("manifests", manifest),
    ...blobs.map((blob) => stored("blobs", blob)),
  ];
  return [...directoriesAbove(files, "var"), ...files];
}

/** Every directory between `top` and the files, each before what it holds. */
function directoriesAbove(files: readonly LayerEntry[], top: string): readonly LayerEntry[] {
  const paths = new Set(
    files.flatMap(({ path }) => {
      const names = path.split("/");
      return names.slice(0, -1).map((_, depth) => names.slice(0, depth + 1).join("/"));
    }),
  );
  paths.delete(top);
  return [...paths].toSorted().map((path) => directory(path));
}
