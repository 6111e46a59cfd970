/**
 * The same pods for each node of the comparison, in one namespace per node: every kind that a response may distinguish.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod, PodSpec } from "../../../src/api/gen/core-v1.ts";
import { isReady } from "../../../src/domain/node/conditions.ts";
import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import { BUSYBOX, hasEndedWhole, SLEEPER, sh } from "../../support/cluster-pods.ts";

export const STATIC_POD = "fixed";

const SPECS: Readonly<Record<string, PodSpec>> = {
  plain: { containers: [SLEEPER] },
  several: {
    containers: [
      {
        ...SLEEPER,
        ports: [{ name: "web", containerPort: 8080 }],
        env: [{ name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
        resources: { requests: { cpu: "10m" }, limits: { cpu: "100m", memory: "64Mi" } },
      },
      { ...SLEEPER, name: "beside" },
    ],
  },
  volumes: {
    containers: [
      {
        ...SLEEPER,
        volumeMounts: ["scratch", "settings", "self"].map((name) => ({ name, mountPath: `/${name}` })),
      },
    ],
    volumes: [
      { name: "scratch", emptyDir: {} },
      { name: "settings", configMap: { name: "settings" } },
      { name: "self", downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
    ],
  },
  "on-the-node": { hostNetwork: true, containers: [SLEEPER] },
  ended: { restartPolicy: "Never", containers: [sh("echo done")] },
  failed: { restartPolicy: "Never", containers: [sh("echo why > /dev/termination-log; exit 3")] },
  crashing: { containers: [sh("echo again; exit 1")] },
  unpulled: { containers: [{ name: "main", image: `${BUSYBOX}-none`, imagePullPolicy: "Never" }] },
};

const podOf = (name: string, node: string, spec: PodSpec): Pod => ({
  metadata: { name, labels: { app: name } },
  spec: { nodeName: node, terminationGracePeriodSeconds: 1, ...spec },
});

export async function makePods(cluster: Cluster, node: ClusterNode, namespace: string): Promise<void> {
  await cluster.kubectl("create", "namespace", namespace);
  await cluster.kubectl("-n", namespace, "create", "configmap", "settings", "--from-literal=colour=blue");
  const items = Object.entries(SPECS).map(([name, spec]) => ({
    apiVersion: "v1",
    kind: "Pod",
    ...podOf(name, node.name, spec),
  }));
  const file = join(cluster.layout.directory, `${namespace}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await cluster.kubectl("-n", namespace, "create", "-f", file);
  const manifests = join(node.directory, "manifests");
  await mkdir(manifests, { recursive: true });
  const fixed = { metadata: { name: STATIC_POD, namespace }, spec: { containers: [SLEEPER] } };
  await writeFile(join(manifests, "fixed.json"), JSON.stringify({ apiVersion: "v1", kind: "Pod", ...fixed }));
}

/** The state in which each pod stays. The crashing pod has no final state: it keeps restarting. */
const REST: Readonly<Record<string, (pod: Pod) => boolean>> = {
  ended: hasEndedWhole,
  failed: hasEndedWhole,
  crashing: ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
  unpulled: ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === "ErrImageNeverPull",
};

export const areAtRest = (pods: readonly Pod[]): boolean =>
  pods.length === Object.keys(SPECS).length + 1 &&
  pods.every((pod) => REST[pod.metadata?.name ?? ""]?.(pod) ?? isReady(pod.status?.conditions));

/** Pods whose sandbox stays; /runningpods/ lists the crashing pod only at times. */
const WITH_SANDBOX: ReadonlySet<string> = new Set(["on-the-node", "plain", "several", "unpulled", "volumes"]);

export const areRunning = (pods: readonly Pod[]): boolean => {
  const names = pods.map(({ metadata }) => metadata?.name ?? "").filter((name) => name !== "crashing");
  const isExpected = (name: string) => WITH_SANDBOX.has(name) || name.startsWith(`${STATIC_POD}-`);
  return names.length === WITH_SANDBOX.size + 1 && names.every(isExpected);
};
