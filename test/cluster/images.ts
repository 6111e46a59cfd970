/**
 * The images of the test clusters, made from scratch: a C pause, a static busybox, agnhost. Kept as OCI archives, to import, and as a
 * registry's storage, to serve, in one cache entry keyed by what goes in.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cached } from "./cache.ts";
import { command } from "./command.ts";
import { addToRegistryStorage, buildImage, type ImageSource, type LayerEntry, ociArchive } from "./oci.ts";
import type { Parts } from "./parts.ts";

export const PAUSE_IMAGE = "registry.k8s.io/pause:3.10.2";
export const BUSYBOX_IMAGE = "registry.k8s.io/e2e-test-images/busybox:1.37.0-1";
export const AGNHOST_IMAGE = "registry.k8s.io/e2e-test-images/agnhost:2.63.0";

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
const PAUSE_SOURCE = join(import.meta.dirname, "images", "pause.c");

export async function buildImages(parts: Parts): Promise<Images> {
  const hash = createHash("sha256");
  const inputs = [
    BUSYBOX,
    parts.path("agnhost"),
    PAUSE_SOURCE,
    import.meta.filename,
    join(import.meta.dirname, "oci.ts"),
  ];
  for (const input of inputs) hash.update(await readFile(input));
  const folder = await cached("images", hash.digest("hex").slice(0, 16), async (scratch) => {
    await mkdir(join(scratch, "archives"));
    for (const source of await sources(parts, scratch)) {
      const image = buildImage(source);
      await writeFile(join(scratch, "archives", archiveName(source)), ociArchive(image));
      await addToRegistryStorage(image, join(scratch, "registry"));
    }
  });
  const archives = [PAUSE_IMAGE, BUSYBOX_IMAGE, AGNHOST_IMAGE].map((name) =>
    join(folder, "archives", archiveName({ names: [name] })),
  );
  return { archives, registryStorage: join(folder, "registry") };
}

const archiveName = ({ names }: Pick<ImageSource, "names">) =>
  `${(names[0] ?? "").replaceAll(/[^a-z0-9.-]/g, "_")}.tar`;

async function sources(parts: Parts, scratch: string): Promise<readonly ImageSource[]> {
  const pause = join(scratch, "pause");
  await command("gcc", ["-static", "-Os", "-s", "-Wall", "-Werror", "-o", pause, PAUSE_SOURCE]);
  return [
    {
      names: [PAUSE_IMAGE],
      layers: [[{ kind: "file", path: "pause", mode: 0o755, content: await readFile(pause) }]],
      config: { Entrypoint: ["/pause"], User: "65535:65535", Env: [PATH] },
    },
    {
      names: [BUSYBOX_IMAGE, "docker.io/library/busybox:1.36"],
      layers: [await busyboxLayer()],
      config: { Cmd: ["sh"], Env: [PATH] },
    },
    {
      names: [AGNHOST_IMAGE],
      layers: [
        await busyboxLayer(),
        [{ kind: "file", path: "agnhost", mode: 0o755, content: await readFile(parts.path("agnhost")) }],
      ],
      config: { Entrypoint: ["/agnhost"], Cmd: ["pause"], Env: [PATH] },
    },
    ...(await onlyServed()),
  ];
}

/** Each is an image of its own: what a runtime says of one image changes with every name it is pulled by. */
async function onlyServed(): Promise<readonly ImageSource[]> {
  const busybox = await busyboxLayer();
  const image = (kind: string, index: number, layer: readonly LayerEntry[]): ImageSource => {
    const repository = `registry.k8s.io/deckhand/${kind}-${index + 1}`;
    const config = { Cmd: ["sh"], Env: [PATH], Labels: { "deckhand.served": `${kind} ${index + 1}` } };
    return { names: [`${repository}:1`, `${repository}:latest`], layers: [layer], config };
  };
  const files: readonly LayerEntry[] = [
    { kind: "folder", path: "folder", mode: 0o755 },
    { kind: "file", path: "folder/inner", mode: 0o640, content: new TextEncoder().encode("inner\n"), uid: 7 },
    { kind: "file", path: "outer", mode: 0o755, content: new TextEncoder().encode("outer\n") },
  ];
  return [
    ...Array.from({ length: SERVED_COUNT }, (_, index) => image("served", index, busybox)),
    ...Array.from({ length: SERVED_FILES_COUNT }, (_, index) => image("files", index, files)),
  ];
}

const PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

async function busyboxLayer(): Promise<readonly LayerEntry[]> {
  const text = (path: string, content: string): LayerEntry => ({
    kind: "file",
    path,
    mode: 0o644,
    content: new TextEncoder().encode(content),
  });
  const applets = (await command(BUSYBOX, ["--list"])).split("\n").filter((name) => name !== "" && name !== "busybox");
  return [
    ...["bin", "etc", "usr", "usr/bin", "home", "root", "var", "dev", "proc", "sys"].map(
      (path): LayerEntry => ({ kind: "folder", path, mode: 0o755 }),
    ),
    { kind: "folder", path: "tmp", mode: 0o1777 },
    { kind: "file", path: "bin/busybox", mode: 0o755, content: await readFile(BUSYBOX) },
    ...applets.map((name): LayerEntry => ({ kind: "hardLink", path: `bin/${name}`, target: "bin/busybox" })),
    { kind: "hardLink", path: "usr/bin/env", target: "bin/busybox" },
    text(
      "etc/passwd",
      "root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/false\nwww-data:x:33:33:www-data:/var/www:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n",
    ),
    text("etc/group", "root:x:0:\ndaemon:x:1:\nwww-data:x:33:\nnobody:x:65534:\n"),
  ];
}
