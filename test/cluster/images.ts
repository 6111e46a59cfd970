/**
 * The images of the test clusters, made from scratch: a C pause, a static busybox, agnhost, CoreDNS, metrics-server. Kept as OCI archives, to import, and
 * as a registry's storage, to serve, in one cache entry keyed by what goes in.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  addToRegistryStorage,
  buildImage,
  type ImageSource,
  type Layer,
  ociArchive,
  plainLayer,
} from "../../tools/oci.ts";
import { cached } from "./cache.ts";
import {
  AGNHOST_CONFIG,
  BUSYBOX_CONFIG,
  busyboxLayer,
  COREDNS_CONFIG,
  directory,
  PATH,
  PAUSE_CONFIG,
  PIECES_SOURCES,
  pauseLayer,
  program,
  text,
} from "./image-pieces.ts";
import type { Parts } from "./parts.ts";

export const PAUSE_IMAGE = "registry.k8s.io/pause:3.10.2";
export const BUSYBOX_IMAGE = "registry.k8s.io/e2e-test-images/busybox:1.37.0-1";
export const AGNHOST_IMAGE = "registry.k8s.io/e2e-test-images/agnhost:2.63.0";

/** Only served, like those below: what wants it pulls it. */
export const COREDNS_IMAGE = "registry.k8s.io/coredns/coredns:v1.14.7";
export const METRICS_SERVER_IMAGE = "registry.k8s.io/metrics-server/metrics-server:v0.9.0";

/** Only served, so that a test can pull them for the first time: `deckhand/served-<n>` with the tags 1 and latest. */
const SERVED_COUNT = 30;
/** Likewise with a few files in them, to be mounted as volumes: `deckhand/files-<n>`. */
const SERVED_FILES_COUNT = 8;

/** Registries whose names the nodes send to the local one. */
export const MIRRORED = ["registry.k8s.io", "gcr.io", "docker.io"] as const;

export interface Images {
  readonly archives: readonly string[];
  readonly registryStorage: string;
}

const BUSYBOX = "/bin/busybox";

export async function buildImages(parts: Parts): Promise<Images> {
  const hash = createHash("sha256");
  const inputs = [
    BUSYBOX,
    parts.path("agnhost"),
    parts.path("coredns"),
    parts.path("metrics-server"),
    import.meta.filename,
    ...PIECES_SOURCES,
  ];
  for (const input of inputs) hash.update(await readFile(input));
  const directory = await cached("images", hash.digest("hex").slice(0, 16), async (scratch) => {
    await mkdir(join(scratch, "archives"));
    for (const source of await sources(parts, scratch)) {
      const image = buildImage(source);
      await writeFile(join(scratch, "archives", archiveName(source)), ociArchive(image));
      await addToRegistryStorage(image, join(scratch, "registry"));
    }
  });
  const archives = [PAUSE_IMAGE, BUSYBOX_IMAGE, AGNHOST_IMAGE].map((name) =>
    join(directory, "archives", archiveName({ names: [name] })),
  );
  return { archives, registryStorage: join(directory, "registry") };
}

export const archiveName = ({ names }: Pick<ImageSource, "names">) =>
  `${(names[0] ?? "").replaceAll(/[^a-z0-9.-]/g, "_")}.tar`;

async function sources(parts: Parts, scratch: string): Promise<readonly ImageSource[]> {
  const busybox = await busyboxLayer(BUSYBOX);
  return [
    { names: [PAUSE_IMAGE], layers: [await pauseLayer(scratch)], config: PAUSE_CONFIG },
    {
      names: [BUSYBOX_IMAGE, "docker.io/library/busybox:1.36"],
      layers: [busybox],
      config: BUSYBOX_CONFIG,
    },
    {
      names: [AGNHOST_IMAGE],
      layers: [busybox, [await program("agnhost", parts.path("agnhost"))]],
      config: AGNHOST_CONFIG,
    },
    { names: [COREDNS_IMAGE], layers: [[await program("coredns", parts.path("coredns"))]], config: COREDNS_CONFIG },
    {
      names: [METRICS_SERVER_IMAGE],
      layers: [[await program("metrics-server", parts.path("metrics-server"))]],
      config: { Entrypoint: ["/metrics-server"], User: "65534:65534", Env: [PATH] },
    },
    ...onlyServed(busybox),
  ];
}

/** Each is an image of its own: what a runtime says of one image changes with every name it is pulled by. */
function onlyServed(busybox: Layer): readonly ImageSource[] {
  const image = (kind: string, index: number, layer: Layer): ImageSource => {
    const repository = `registry.k8s.io/deckhand/${kind}-${index + 1}`;
    const config = { Cmd: ["sh"], Env: [PATH], Labels: { "deckhand.served": `${kind} ${index + 1}` } };
    return { names: [`${repository}:1`, `${repository}:latest`], layers: [layer], config };
  };
  const files = plainLayer([
    directory("folder"),
    { ...text("folder/inner", "inner\n", 0o640), uid: 7 },
    text("outer", "outer\n", 0o755),
  ]);
  const ofUser = (name: string, User: string): ImageSource => ({
    names: [`registry.k8s.io/deckhand/user-${name}:1`],
    layers: [busybox],
    config: { Cmd: ["sh"], Env: [PATH], User },
  });
  return [
    ofUser("number", "1234:77"),
    ofUser("name", "www-data"),
    ...Array.from({ length: SERVED_COUNT }, (_, index) => image("served", index, busybox)),
    ...Array.from({ length: SERVED_FILES_COUNT }, (_, index) => image("files", index, files)),
  ];
}
