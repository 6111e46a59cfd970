/**
 * The cluster's objects and the nodes' files to which the pods refer. They are the same for both sides except where a
 * name contains its node.
 */

import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import type {
  ConfigMap,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
} from "../../../src/api/gen/core-v1.ts";
import {
  configMaps,
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
  serviceAccounts,
  services,
} from "../../../src/api/resources.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { SIDES } from "../../golden/sides.ts";
import { onMachine } from "../../support/node-files.ts";
import type { World } from "./case.ts";

export const NAMESPACE = "default";
/** A directory on each node, for host paths and local volumes. */
export const NODE_DIRECTORY = "/var/lib/ordinary";
/** The only image repository for which the nodes themselves have credentials, and one for which theirs are wrong. */
export const NODE_FILE_REPOSITORY = "deckhand/served-19";
export const NODE_FILE_WRONG_REPOSITORY = "deckhand/served-20";
const forever = new AbortController().signal;

const named = (name: string) => ({ name, namespace: NAMESPACE });
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64");

const PROTOTYPE = JSON.parse('{"__proto__":"a legal key","constructor":"another"}') as Record<string, string>;
const CONFIG_MAPS: readonly ConfigMap[] = [
  {
    metadata: named("words"),
    data: { one: "1", two: "2\nlines\n", empty: "", "dotted.name": "dots", __proto__x: "x", umlaut: "Grüße" },
    binaryData: { bytes: base64(new Uint8Array([0, 255, 1, 254])) },
  },
  { metadata: named("prototype"), data: PROTOTYPE },
  { metadata: named("unchanging"), immutable: true, data: { word: "for ever" } },
  { metadata: named("variables"), data: { FIRST: "from the map", SHARED: "map", "odd.name-x": "odd", "1ST": "digit" } },
  { metadata: named("alive"), data: { word: "old", gone: "soon" } },
  { metadata: named("loses-a-key"), data: { kept: "kept", lost: "still here" } },
  { metadata: named("own-hosts"), data: { hosts: "192.0.2.1 mine\n" } },
];

const dockerConfig = (registry: string, username: string, password: string): string =>
  JSON.stringify({ auths: { [registry]: { auth: base64(`${username}:${password}`) } } });

function secretsFor({ cluster }: World): readonly Secret[] {
  const { guarded, username, password } = cluster.registry;
  const config = (name: string, json: string): Secret => ({
    metadata: named(name),
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": base64(json) },
  });
  const right = dockerConfig(guarded, username, password);
  const wrong = dockerConfig(guarded, username, "wrong");
  const legacy = {
    [guarded]: { username, password, email: "nobody@example.com", auth: base64(`${username}:${password}`) },
  };
  const byLength = {
    auths: {
      [guarded]: { auth: base64(`${username}:wrong`) },
      [`${guarded}/deckhand`]: { username, password },
    },
  };
  return [
    {
      metadata: named("hidden"),
      data: { user: base64("root"), key: base64(new Uint8Array([1, 2, 3, 255])), empty: "" },
    },
    { metadata: named("hidden-variables"), data: { SHARED: base64("secret"), SECOND: base64("from the secret") } },
    { metadata: named("alive-secret"), data: { word: base64("old") } },
    config("pull-right", right),
    config("pull-wrong", wrong),
    config("pull-elsewhere", dockerConfig("registry.example.com", username, password)),
    config("pull-by-length", JSON.stringify(byLength)),
    config("pull-malformed", JSON.stringify({ auths: { [guarded]: { auth: "!" } } })),
    { metadata: named("pull-opaque"), type: "Opaque", data: { ".dockerconfigjson": base64(right) } },
    {
      metadata: named("pull-legacy"),
      type: "kubernetes.io/dockercfg",
      data: { ".dockercfg": base64(JSON.stringify(legacy)) },
    },
  ];
}

/** Creates another Secret with the right credentials. */
export async function makeSecret(world: World, name: string): Promise<void> {
  const right = secretsFor(world).find(({ metadata }) => metadata?.name === "pull-right");
  await world.pods.api.create(secrets, { ...right, metadata: named(name) }, forever);
}

/** The cluster IPs are chosen here, so that they are the same in every cluster. */
const SERVICES: readonly Service[] = [
  {
    metadata: named("web"),
    spec: {
      clusterIP: "198.19.0.21",
      ports: [
        { name: "http", port: 80 },
        { name: "https", port: 443 },
        { name: "dns", port: 53, protocol: "UDP" },
      ],
    },
  },
  { metadata: named("my-data-base"), spec: { clusterIP: "198.19.0.22", ports: [{ port: 5432 }] } },
  { metadata: named("headless"), spec: { clusterIP: "None", ports: [{ port: 80 }] } },
  { metadata: named("elsewhere"), spec: { type: "ExternalName", externalName: "example.com" } },
  {
    metadata: { name: "foreign", namespace: "kube-system" },
    spec: { clusterIP: "198.19.0.23", ports: [{ port: 80 }] },
  },
];

export interface Claimed {
  readonly name: string;
  /** The node to which the volume belongs; undefined means every node. */
  readonly of?: "own" | "other";
  readonly source: Partial<NonNullable<PersistentVolume["spec"]>>;
  readonly claim?: Partial<NonNullable<PersistentVolumeClaim["spec"]>>;
  /** The name of a claim that someone else creates. */
  readonly claimName?: (node: string) => string;
}

const local = (directory: string) => ({ local: { path: `${NODE_DIRECTORY}/${directory}` } });

const CLAIMED: readonly Claimed[] = [
  { name: "plain", of: "own", source: local("local-plain") },
  { name: "read", of: "own", source: local("local-read") },
  { name: "sub", of: "own", source: local("local-sub") },
  { name: "grouped", of: "own", source: local("local-grouped") },
  { name: "grouped-read", of: "own", source: local("local-grouped-read") },
  { name: "matching", of: "own", source: local("local-matching") },
  { name: "mismatch", of: "own", source: local("local-mismatch") },
  { name: "shared", of: "own", source: local("local-shared") },
  { name: "foreign", of: "other", source: local("local-plain") },
  { name: "missing", of: "own", source: local("local-missing") },
  { name: "file", of: "own", source: local("file") },
  { name: "block", of: "own", source: { ...local("block"), volumeMode: "Block" }, claim: { volumeMode: "Block" } },
  { name: "host", source: { hostPath: { path: `${NODE_DIRECTORY}/folder` } } },
  { name: "host-refused", source: { hostPath: { path: `${NODE_DIRECTORY}/file`, type: "Directory" } } },
  { name: "own", of: "own", source: local("local-own"), claimName: (node) => `claim-ephemeral-${node}-data` },
];

export const claimName = (name: string, node: string): string => `claim-${name}-${node}`;

/** No node of the cluster has this name. */
const OTHER_NODE = "another-node";

function volumeOf(one: Claimed, node: string): PersistentVolume {
  const key = "kubernetes.io/hostname";
  const host = one.of === "other" ? OTHER_NODE : node;
  const affinity = {
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values: [host] }] }] },
  };
  return {
    metadata: { name: `volume-${one.name}-${node}` },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "",
      persistentVolumeReclaimPolicy: "Retain",
      claimRef: { namespace: NAMESPACE, name: one.claimName?.(node) ?? claimName(one.name, node) },
      ...(one.of === undefined ? {} : { nodeAffinity: affinity }),
      ...one.source,
    },
  };
}

const claimOf = (name: string, more: Claimed["claim"] = {}): PersistentVolumeClaim => ({
  metadata: named(name),
  spec: {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "",
    resources: { requests: { storage: "1Gi" } },
    ...more,
  },
});

/** Creates all objects in the cluster, and waits until every claim is bound that can be. */
export async function makeObjects(world: World): Promise<void> {
  const { api } = world.pods;
  await api.create(serviceAccounts, { metadata: named("builder") }, forever);
  await api.create(serviceAccounts, { metadata: named("puller"), imagePullSecrets: [{ name: "pull-right" }] }, forever);
  for (const one of SERVICES) await api.create(services, one, forever);
  for (const one of CONFIG_MAPS) await api.create(configMaps, one, forever);
  for (const one of secretsFor(world)) await api.create(secrets, one, forever);
  for (const side of SIDES) {
    const { node } = world.place(side);
    for (const one of CLAIMED) {
      await api.create(persistentVolumes, volumeOf(one, node), forever);
      if (one.claimName !== undefined) continue;
      const volumeName = `volume-${one.name}-${node}`;
      await api.create(
        persistentVolumeClaims,
        claimOf(claimName(one.name, node), { volumeName, ...one.claim }),
        forever,
      );
    }
    await api.create(persistentVolumeClaims, claimOf(claimName("unbound", node)), forever);
    // Named like the pod's own claim, but not owned by the pod.
    await api.create(persistentVolumeClaims, claimOf(`claim-ephemeral-foreign-${node}-data`), forever);
    for (const one of CLAIMED.filter(({ claimName: other }) => other === undefined)) {
      await claimBound(world, claimName(one.name, node));
    }
  }
}

export async function claimBound({ pods }: World, name: string): Promise<void> {
  const isBound = async () => {
    const claim = await pods.api.get(persistentVolumeClaims, named(name), forever);
    return claim.status?.phase === "Bound";
  };
  await waitUntil(`${name} to be bound`, 30_000, isBound, 200);
}

/** A pod that no scheduler binds. The test binds it once everything is prepared. */
export const unscheduled = (pod: Pod): Pod => {
  const { nodeName: _, ...spec } = pod.spec ?? { containers: [] };
  return { ...pod, spec: { ...spec, schedulerName: "nobody" } };
};

export async function bind({ cluster }: World, pod: string, node: string): Promise<void> {
  const file = join(cluster.layout.directory, `binding-${pod}.json`);
  const target = { apiVersion: "v1", kind: "Node", name: node };
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "Binding", metadata: named(pod), target }));
  await cluster.kubectl("create", "--raw", `/api/v1/namespaces/${NAMESPACE}/pods/${pod}/binding`, "-f", file);
}

const PREPARE = `umask 022
mkdir -p ${NODE_DIRECTORY}; cd ${NODE_DIRECTORY}
tree() { mkdir -p $1/deep; echo top > $1/top; echo low > $1/deep/low; ln -s top $1/link; chmod 600 $1/top; chmod 755 $1/deep/low; }
for name in plain read sub grouped grouped-read shared own matching mismatch; do tree local-$name; done
chown 0:3000 local-matching; chmod 2775 local-matching
tree folder; chown 7:8 folder/top
mkdir only
echo alone > file; chmod 640 file
mknod char c 1 3; mknod block b 7 200
mkdir -p subs/inside; echo in > subs/inside/a; ln -s /etc subs/outside; ln -s inside subs/inner; ln -s ../../../../../etc/hostname subs/away; echo f > subs/plain
mkdir private; mount --bind private private; mount --make-private private
mkdir -p nested/below; mount -t tmpfs -o size=1m tmpfs nested/below; echo deep > nested/below/deep
`;

/** Creates the files of both nodes. The returned sockets listen until they are closed. */
export async function prepareNodes(world: World): Promise<readonly Server[]> {
  const { guarded, username, password } = world.cluster.registry;
  const auth = (secret: string) => ({ auth: base64(`${username}:${secret}`) });
  const auths = {
    [`${guarded}/${NODE_FILE_REPOSITORY}`]: auth(password),
    [`${guarded}/${NODE_FILE_WRONG_REPOSITORY}`]: auth("wrong"),
  };
  return Promise.all(
    SIDES.map(async (side) => {
      const node = world.node(side);
      const { code, stderr } = await node.run("sh", "-ec", PREPARE);
      if (code !== 0) throw new Error(`${node.name} cannot be prepared: ${stderr}`);
      await writeFile(onMachine(node, "/var/lib/kubelet/config.json"), JSON.stringify({ auths }));
      const server = createServer();
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(onMachine(node, `${NODE_DIRECTORY}/socket`), resolve);
      });
      return server;
    }),
  );
}
