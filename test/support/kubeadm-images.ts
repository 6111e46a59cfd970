/**
 * The images that kubeadm requires, made of our own binaries and kept as OCI archives under the same names: the static
 * pods of a control plane, CoreDNS and kube-proxy. With them and the pause image that every guest has, nothing is pulled.
 */
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { KUBERNETES_VERSION } from "../../src/app/version.ts";
import { buildImage, type ImageSource, type Layer, type LayerEntry, ociArchive, plainLayer } from "../../tools/oci.ts";
import { directoriesOf, fileEntry, librariesOf } from "../../tools/package/image.ts";
import { cached } from "../cluster/cache.ts";
import { command } from "../cluster/command.ts";
import { COREDNS_CONFIG, PATH, PIECES_SOURCES, program } from "../cluster/image-pieces.ts";
import { archiveName, PAUSE_IMAGE } from "../cluster/images.ts";
import type { Parts, ProgramName } from "../cluster/parts.ts";

/** Archives to import. */
export interface KubeadmImages {
  readonly controlPlane: readonly string[];
  readonly everyNode: readonly string[];
}

const PROGRAMS: readonly ProgramName[] = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kube-proxy",
  "coredns",
];
const ON_EVERY_NODE = "kube-proxy";

export async function kubeadmImages(parts: Parts): Promise<KubeadmImages> {
  const names = await requestedNames(parts);
  const packets = packetFilter();
  const hash = createHash("sha256").update(names.join());
  for (const file of [import.meta.filename, ...PIECES_SOURCES]) hash.update(await readFile(file));
  // A part's directory is named by what it was built from.
  for (const one of PROGRAMS) hash.update(parts.path(one));
  hash.update(packets.diffId);
  const entry = await cached("kubeadm-images", hash.digest("hex").slice(0, 16), async (scratch) => {
    for (const name of names) {
      const archive = ociArchive(buildImage(await sourceOf(name, parts, packets)));
      await writeFile(join(scratch, archiveName({ names: [name] })), archive);
    }
  });
  const archive = (name: string) => join(entry, archiveName({ names: [name] }));
  const isEverywhere = (name: string) => programOf(name) === ON_EVERY_NODE;
  return {
    controlPlane: names.filter((name) => !isEverywhere(name)).map(archive),
    everyNode: names.filter(isEverywhere).map(archive),
  };
}

async function requestedNames(parts: Parts): Promise<readonly string[]> {
  const args = ["config", "images", "list", `--kubernetes-version=${KUBERNETES_VERSION}`];
  const names = (await command(parts.path("kubeadm"), args)).split("\n").filter((name) => name !== "");
  if (!names.includes(PAUSE_IMAGE))
    throw new Error(`kubeadm requires another pause image than ${PAUSE_IMAGE}: ${names.join()}`);
  return names.filter((name) => name !== PAUSE_IMAGE);
}

/** `registry.k8s.io/coredns/coredns:v1` → `coredns`. */
function programOf(image: string): ProgramName {
  const [name] = basename(image).split(":");
  const found = PROGRAMS.find((one) => one === name);
  if (found === undefined) throw new Error(`kubeadm requires an unknown image: ${image}`);
  return found;
}

async function sourceOf(image: string, parts: Parts, packets: Layer): Promise<ImageSource> {
  const name = programOf(image);
  const names = [image];
  if (name === "coredns") {
    return { names, layers: [[await program(name, parts.path(name))]], config: COREDNS_CONFIG };
  }
  const own = [await program(`usr/local/bin/${name}`, parts.path(name))];
  const layer = plainLayer([...directoriesOf(own), ...own]);
  return { names, layers: name === "kube-proxy" ? [packets, layer] : [layer], config: { Env: [PATH] } };
}

const ITS_PROGRAM = "/usr/sbin/xtables-nft-multi";
const ITS_PLUGINS = "/usr/lib/x86_64-linux-gnu/xtables";
const ITS_NAMES = ["iptables", "ip6tables"].flatMap((name) => [name, `${name}-save`, `${name}-restore`]);

/** iptables of this machine's Debian, with what it is linked with and loads: kube-proxy calls it. */
function packetFilter(): Layer {
  const plugins = readdirSync(ITS_PLUGINS).filter((name) => name.endsWith(".so"));
  const own = [ITS_PROGRAM, ...plugins.map((name) => join(ITS_PLUGINS, name))];
  // A plugin may be linked with more than the program is: a service with two endpoints needs one of those.
  const files = [...new Set([...own, ...own.flatMap(librariesOf)])].toSorted().map((path) => fileEntry(path, 0o755));
  const links = ITS_NAMES.map(
    (name): LayerEntry => ({ kind: "symlink", path: `usr/sbin/${name}`, target: basename(ITS_PROGRAM) }),
  );
  return plainLayer([...directoriesOf([...files, ...links]), ...files, ...links]);
}
