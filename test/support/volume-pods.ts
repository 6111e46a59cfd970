/**
 * Pods with every kind of local volume at once, the objects they refer to, and the observable state of their volumes
 * from outside.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PodSpec, Volume } from "../../src/api/gen/core-v1.ts";
import type { ClusterNode } from "../cluster/cluster.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";

const SETTINGS = { first: "one", second: "two" };
export const CONFIG_MAP = "settings";
const PROJECTED: Volume = {
  name: "all",
  projected: {
    sources: [
      { configMap: { name: CONFIG_MAP, items: [{ key: "first", path: "deep/first" }] } },
      { secret: { name: "keys" } },
      { downwardAPI: { items: [{ path: "uid", fieldRef: { fieldPath: "metadata.uid" } }] } },
      { serviceAccountToken: { path: "token", expirationSeconds: 3600, audience: "someone" } },
    ],
  },
};

/** A node, and a directory on it for files that do not belong to pods. */
export type VolumeHost = Pick<ClusterNode, "name" | "directory">;

/**
 * The objects to which the pods refer. Each pod has a PersistentVolume on a directory of the node, and a claim on it.
 */
export function volumeObjects(node: VolumeHost, names: readonly string[]): readonly object[] {
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: CONFIG_MAP }, data: SETTINGS },
    { apiVersion: "v1", kind: "Secret", metadata: { name: "keys" }, stringData: { key: "hidden" } },
    ...names.flatMap((name) => claimed(node, name)),
  ];
}

export const diskOf = (node: VolumeHost, name: string): string => join(node.directory, "disks", name);
export const sharedOf = (node: VolumeHost): string => join(node.directory, "shared");

export async function makeDirectories(node: ClusterNode, names: readonly string[]): Promise<void> {
  await mkdir(sharedOf(node));
  await writeFile(join(sharedOf(node), "note"), "from the node");
  for (const name of names) await mkdir(diskOf(node, name), { recursive: true });
}

function claimed(node: VolumeHost, name: string): readonly object[] {
  const usual = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
  const here = { key: "kubernetes.io/hostname", operator: "In", values: [node.name] };
  return [
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name },
      spec: {
        ...usual,
        capacity: { storage: "1Gi" },
        local: { path: diskOf(node, name) },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } },
        claimRef: { namespace: "default", name },
      },
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name },
      spec: { ...usual, volumeName: name, resources: { requests: { storage: "1Gi" } } },
    },
  ];
}

/** Writes to every writable mount, and exits within a second of SIGTERM. */
const SCRIPT = [
  "for place in scratch memory disk part; do echo $HOSTNAME > /$place/written; done",
  "trap 'exit 0' TERM",
  "while :; do sleep 1; done",
].join("\n");

export function volumePod(node: VolumeHost, name: string): Partial<PodSpec> {
  const volumes: readonly Volume[] = [
    PROJECTED,
    { name: "config", configMap: { name: CONFIG_MAP } },
    { name: "keys", secret: { secretName: "keys", defaultMode: 0o400 } },
    { name: "about", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
    { name: "scratch", emptyDir: {} },
    { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "4Mi" } },
    { name: "host", hostPath: { path: sharedOf(node), type: "Directory" } },
    { name: "disk", persistentVolumeClaim: { claimName: name } },
  ];
  const volumeMounts = [
    ...volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` })),
    { name: "config", mountPath: "/one", subPath: "first" },
    { name: "disk", mountPath: "/part", subPath: "a/b" },
  ];
  return {
    automountServiceAccountToken: true,
    volumes,
    containers: [{ name: "app", image: BUSYBOX_IMAGE, command: ["sh", "-c", SCRIPT], volumeMounts }],
  };
}

const TOKENS = ["/var/run/secrets/kubernetes.io/serviceaccount/token", "/all/token"];

/**
 * The files that a container of such a pod reads, by path. A token is replaced by its pod's UID and its audience,
 * because an agent may renew it.
 */
export async function filesSeen(read: (path: string) => Promise<string>): Promise<Readonly<Record<string, string>>> {
  const written = ["scratch", "memory", "disk", "part"].map((place) => `/${place}/written`);
  const given = ["/config/second", "/keys/key", "/about/name", "/all/deep/first", "/all/key", "/all/uid", "/host/note"];
  const found: Record<string, string> = {};
  for (const path of [...written, ...given, "/one", "/var/run/secrets/kubernetes.io/serviceaccount/namespace"]) {
    found[path] = await read(path);
  }
  for (const path of TOKENS) found[path] = speaksFor(await read(path));
  return found;
}

/** Reads a file as the process sees it. */
export const readIn = async (pid: number, path: string): Promise<string> =>
  (await readFile(`/proc/${pid}/root${path}`, "utf8")).trim();

function speaksFor(token: string): string {
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as {
    readonly aud: readonly string[];
    readonly "kubernetes.io": { readonly pod: { readonly uid: string } };
  };
  return `${claims["kubernetes.io"].pod.uid} to ${claims.aud.join()}`;
}

/** All mounts of the node below a pod's directory, with their mount ids: a new mount has another id. */
export async function mountsOf(node: ClusterNode, uid: string): Promise<readonly string[]> {
  const { stdout } = await node.run("cat", "/proc/self/mountinfo");
  const lines = stdout.split("\n").map((line) => line.split(" "));
  return lines
    .filter(([, , , , at = ""]) => at.startsWith(`/var/lib/kubelet/pods/${uid}/`))
    .map((fields) => `${fields[0]} ${fields[4]}`);
}
