/** The same pods for each node of the comparison, in one namespace per node. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import { BUSYBOX_IMAGE } from "../../cluster/images.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { STAY } from "../../support/cluster-pods.ts";

type Json = Readonly<Record<string, unknown>>;

const container = (name: string, script: string, more: Json = {}): Json => ({
  name,
  image: BUSYBOX_IMAGE,
  command: ["sh", "-c", script],
  ...more,
});

const pod = (name: string, node: string, spec: Json): Json => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { nodeName: node, terminationGracePeriodSeconds: 1, ...spec },
});

/**
 * One container burns a twentieth of a CPU. The other holds memory in three ways and writes to a volume, its own files
 * and its log.
 */
const busy = (node: string): Json =>
  pod("busy", node, {
    containers: [
      container("burner", "while :; do :; done", {
        resources: { requests: { cpu: "20m" }, limits: { cpu: "50m", memory: "64Mi" } },
      }),
      container(
        "holder",
        `dd if=/dev/zero of=/mem/x bs=1M count=20; dd if=/dev/zero of=/scratch/y bs=1M count=5; dd if=/dev/zero of=/z bs=1M count=3; seq 3000; ${STAY}`,
        {
          resources: { limits: { memory: "100Mi" } },
          volumeMounts: [
            { name: "mem", mountPath: "/mem" },
            { name: "scratch", mountPath: "/scratch" },
            { name: "settings", mountPath: "/settings" },
          ],
        },
      ),
    ],
    volumes: [
      { name: "mem", emptyDir: { medium: "Memory" } },
      { name: "scratch", emptyDir: {} },
      { name: "settings", configMap: { name: "settings" } },
    ],
  });

/** Sends a known number of bytes from its own network, and receives as many. */
const talker = (node: string): Json =>
  pod("talker", node, {
    containers: [
      container("talker", `ping -q -c 20 -i 0.1 -s 10000 "$NODE" && touch /tmp/done; ${STAY}`, {
        env: [{ name: "NODE", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } }],
        resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { cpu: "10m", memory: "16Mi" } },
      }),
    ],
  });

const onTheNode = (node: string): Json =>
  pod("hostnet", node, { hostNetwork: true, containers: [container("main", STAY)] });

const withClaim = (node: string): Json =>
  pod("keeper", node, {
    containers: [
      container("keeper", `dd if=/dev/zero of=/data/kept bs=1M count=2; ${STAY}`, {
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      }),
    ],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
  });

const localVolume = (name: string, namespace: string, node: string, path: string): Json => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name },
  spec: {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce"],
    persistentVolumeReclaimPolicy: "Retain",
    storageClassName: "",
    claimRef: { namespace, name: "data" },
    local: { path },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] }],
      },
    },
  },
});

const CLAIM: Json = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources: { requests: { storage: "1Gi" } } },
};

const PODS = ["busy", "talker", "hostnet", "keeper"] as const;
export const STATIC_POD = "fixed";

/** Creates the namespace, the objects and a static pod; `waitForWorkload` waits until the pods are ready. */
export async function startWorkload(cluster: Cluster, node: ClusterNode, namespace: string): Promise<void> {
  const disk = join(node.directory, "disk");
  await mkdir(disk);
  await cluster.kubectl("create", "namespace", namespace);
  await cluster.kubectl("-n", namespace, "create", "configmap", "settings", "--from-literal=colour=blue");
  const items = [
    localVolume(`disk-${namespace}`, namespace, node.name, disk),
    CLAIM,
    ...[busy, talker, onTheNode, withClaim].map((make) => make(node.name)),
  ];
  const file = join(cluster.layout.directory, `${namespace}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await cluster.kubectl("-n", namespace, "apply", "-f", file);
  const fixed = {
    ...pod(STATIC_POD, node.name, { containers: [container("main", STAY)] }),
    metadata: { name: STATIC_POD, namespace },
  };
  await mkdir(join(node.directory, "manifests"), { recursive: true });
  await writeFile(join(node.directory, "manifests", "fixed.json"), JSON.stringify(fixed));
}

export async function waitForWorkload(cluster: Cluster, node: ClusterNode, namespace: string): Promise<void> {
  const fixed = `${STATIC_POD}-${node.name}`;
  await waitUntil(`the pod ${fixed}`, 60_000, () =>
    cluster.kubectl("-n", namespace, "get", "pod", fixed).then(
      () => true,
      () => false,
    ),
  );
  const names = [...PODS, fixed].map((name) => `pod/${name}`);
  await cluster.kubectl("-n", namespace, "wait", "--for=condition=Ready", ...names, "--timeout=90s");
}
