/**
 * What is true only of one cluster, one machine or one build of the images: addresses, amounts, digests and the
 * machine's own files. Answers have a placeholder for each, only where the value is exactly the cluster's: any other
 * value stays and differs.
 */
import { readFile } from "node:fs/promises";
import type { Node } from "../../../src/api/gen/core-v1.ts";
import { nodes } from "../../../src/api/resources.ts";
import { parseQuantity, quantityValue } from "../../../src/base/quantity.ts";
import { digestOf } from "../../../tools/oci.ts";
import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import { waitUntil } from "../../cluster/wait.ts";
import type { ClusterPods } from "../../support/cluster-pods.ts";

type Replacement = readonly [what: RegExp | string, instead: string];

export interface ClusterFacts {
  readonly memoryCapacityBytes: bigint;
  /** Inserts the placeholders. The text may be JSON. */
  neutral(text: string): string;
}

export async function clusterFacts(cluster: Cluster, pods: ClusterPods, node: ClusterNode): Promise<ClusterFacts> {
  const { layout, registry } = cluster;
  const { capacity = {}, allocatable = {} } = (await reportedNode(pods, node)).status ?? {};
  const replacements = [
    ...fileFacts(await readFile("/etc/hosts", "utf8"), "<hosts file of the machine>"),
    ...fileFacts(await readFile(cluster.api.caFile, "utf8"), "<certificate of the cluster>"),
    ...(await diskFacts(node)),
    ...amountFacts(amount(allocatable["memory"]), amount(allocatable["ephemeral-storage"])),
    [exactly(registry.open), "<open registry>"],
    [exactly(registry.guarded), "<guarded registry>"],
    [exactly(layout.address), "<control plane>"],
    [exactly(node.address), "<node address>"],
    // The path before the node's directory depends on where the machine keeps its clusters.
    [new RegExp(`[^\\s"=]*/${layout.name}/${node.name}/`, "g"), "<node>/"],
    [new RegExp(`\\b${layout.name}\\b`, "g"), "<cluster>"],
  ] satisfies readonly Replacement[];
  const withoutImages = await imageWords(registry.open);
  return {
    memoryCapacityBytes: amount(capacity["memory"]),
    neutral: (text) => replacements.reduce((so, [what, instead]) => so.replaceAll(what, instead), withoutImages(text)),
  };
}

const amount = (quantity = "0"): bigint => quantityValue(parseQuantity(quantity));

async function reportedNode({ api }: ClusterPods, { name }: ClusterNode): Promise<Node> {
  let found: Node = {};
  const isReported = async () => {
    found = await api.get(nodes, { name }, new AbortController().signal);
    return found.status?.allocatable?.["memory"] !== undefined;
  };
  await waitUntil(`${name} to report its amounts`, 60_000, isReported, 200);
  return found;
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
const exactly = (text: string): RegExp => new RegExp(`(?<![0-9.])${escaped(text)}(?![0-9])`, "g");

/** Replaces a file's content within JSON. */
const fileFacts = (content: string, instead: string): readonly Replacement[] =>
  content === "" ? [] : [[JSON.stringify(content).slice(1, -1), instead]];

/**
 * Mounts from the node's disk have the disk's type and options. Of the mounts' own options, those about access times
 * are removed.
 */
async function diskFacts(node: ClusterNode): Promise<readonly Replacement[]> {
  const { stdout } = await node.run("findmnt", "--noheadings", "--output", "FSTYPE,FS-OPTIONS", "--target", "/var/lib");
  const [type = "", options = ""] = stdout.trim().split(/\s+/);
  const place = `"superOptions":"${escaped(options)}","type":"${escaped(type)}"`;
  const before = `"propagation":\\[[^\\]]*\\],"root":"(?:[^"\\\\]|\\\\.)*",`;
  return [
    [new RegExp(`(?<="options":"[^"]*),(?:relatime|noatime|nodiratime)(?=[^"]*",${before}${place})`, "g"), ""],
    [new RegExp(place, "g"), '"superOptions":"<of the disk>","type":"<disk>"'],
  ];
}

interface Manifest {
  readonly config: { readonly digest: string; readonly size: number };
  readonly layers: readonly { readonly size: number }[];
}

/** Images contain programs of the machine that built them, so their digests and sizes are those of one build. */
async function imageWords(registry: string): Promise<(text: string) => string> {
  const read = async (path: string) =>
    (await fetch(`http://${registry}/v2/${path}`, { headers: { accept: MANIFEST_TYPE } })).text();
  const { repositories } = JSON.parse(await read("_catalog?n=1000")) as { readonly repositories: readonly string[] };
  const digests = new Map<string, string>();
  const sizes = new Map<string, string>();
  for (const repository of repositories) {
    const { tags } = JSON.parse(await read(`${repository}/tags/list`)) as { readonly tags: readonly string[] };
    const text = await read(`${repository}/manifests/${tags.toSorted()[0]}`);
    const { config, layers } = JSON.parse(text) as Manifest;
    const bytes = [config, ...layers].reduce((sum, { size }) => sum + size, Buffer.byteLength(text));
    sizes.set(repository, String(bytes));
    for (const [digest, what] of [
      [config.digest, "config"] as const,
      [digestOf(Buffer.from(text)), "manifest"] as const,
    ])
      if (!digests.has(digest)) digests.set(digest, `<${what} of ${repository}>`);
  }
  return (text) =>
    text
      .replaceAll(DIGEST, (digest) => digests.get(digest) ?? digest)
      .replaceAll(PULLED, (whole, before: string, repository: string, between: string, bytes: string) =>
        sizes.get(repository) === bytes ? `${before}${repository}${between}<size>` : whole,
      );
}

const DIGEST = /\bsha256:[0-9a-f]{64}\b/g;
const PULLED =
  /(?<before>Successfully pulled image \\?"[^"/]*\/)(?<repository>[^":]*)(?<between>[^"]*" in [^"]*Image size: )(?<bytes>\d+)/g;
const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
const KIB = 1024n;
const PAGE_BYTES = 4096n;

/** The amounts that a container without limits may use of a node. */
function amountFacts(memoryBytes: bigint, diskBytes: bigint): readonly Replacement[] {
  const up = (bytes: bigint, unit: bigint) => (bytes + unit - 1n) / unit;
  const ofVariable = (name: string, value: bigint): RegExp =>
    new RegExp(`(?<=\\b${name}(?:=|","value":"))${value}(?=")`, "g");
  const pagesKib = (up(memoryBytes, PAGE_BYTES) * PAGE_BYTES) / KIB;
  return [
    [ofVariable("MEMORY_MEBI", up(memoryBytes, KIB * KIB)), "<allocatable memory in Mi>"],
    [ofVariable("DISK", up(diskBytes, KIB * KIB * KIB)), "<allocatable disk in Gi>"],
    [new RegExp(`\\bsize=${pagesKib}k\\b`, "g"), "size=<allocatable memory>"],
    [new RegExp(`\\b${memoryBytes}\\b`, "g"), "<allocatable memory>"],
    [new RegExp(`\\b${diskBytes}\\b`, "g"), "<allocatable disk>"],
  ];
}
