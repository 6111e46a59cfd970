/** What more than one set of images is made of: a C pause, a layer around a static busybox, and the settings that go with each. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ImageSource, type Layer, type LayerEntry, plainLayer } from "../../tools/oci.ts";
import { inRepository } from "../../tools/repository.ts";
import { command } from "./command.ts";

type ImageConfig = ImageSource["config"];

export const PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export const PAUSE_CONFIG: ImageConfig = { Entrypoint: ["/pause"], User: "65535:65535", Env: [PATH] };
export const BUSYBOX_CONFIG: ImageConfig = { Cmd: ["sh"], Env: [PATH] };
export const AGNHOST_CONFIG: ImageConfig = { Entrypoint: ["/agnhost"], Cmd: ["pause"], Env: [PATH] };
export const COREDNS_CONFIG: ImageConfig = { Entrypoint: ["/coredns"], User: "65532:65532", Env: [PATH] };

const PAUSE_SOURCE = join(import.meta.dirname, "images", "pause.c");

/** Belong to the key of whatever is made with these pieces. */
export const PIECES_SOURCES = [PAUSE_SOURCE, import.meta.filename, inRepository("tools/oci.ts")] as const;

type FileEntry = Extract<LayerEntry, { kind: "file" }>;

export const directory = (path: string, mode = 0o755): LayerEntry => ({ kind: "directory", path, mode });

export const file = (path: string, content: Uint8Array, mode = 0o644): FileEntry => ({
  kind: "file",
  path,
  mode,
  content,
});

export const text = (path: string, content: string, mode?: number): FileEntry =>
  file(path, new TextEncoder().encode(content), mode);

export const program = async (path: string, source: string, mode = 0o755): Promise<FileEntry> =>
  file(path, await readFile(source), mode);

export async function pauseLayer(scratch: string): Promise<Layer> {
  const pause = join(scratch, "pause");
  await command("gcc", ["-static", "-Os", "-s", "-Wall", "-Werror", "-o", pause, PAUSE_SOURCE]);
  return plainLayer([await program("pause", pause)]);
}

export async function busyboxLayer(binary: string): Promise<Layer> {
  const applets = (await command(binary, ["--list"])).split("\n").filter((name) => name !== "" && name !== "busybox");
  return plainLayer([
    ...["bin", "etc", "usr", "usr/bin", "home", "root", "var", "dev", "proc", "sys"].map((path) => directory(path)),
    directory("tmp", 0o1777),
    await program("bin/busybox", binary),
    ...applets.map((name): LayerEntry => ({ kind: "hardLink", path: `bin/${name}`, target: "bin/busybox" })),
    { kind: "hardLink", path: "usr/bin/env", target: "bin/busybox" },
    text(
      "etc/passwd",
      "root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/false\nwww-data:x:33:33:www-data:/var/www:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n",
    ),
    text("etc/group", "root:x:0:\ndaemon:x:1:\nwww-data:x:33:\nnobody:x:65534:\n"),
  ]);
}
