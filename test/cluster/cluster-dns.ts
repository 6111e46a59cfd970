/**
 * Cluster DNS: CoreDNS as a Deployment in kube-system, at the address that every node configures for its pods. The
 * scheduler chooses the node, and that node's agent runs it. It reaches the API server only by its service account.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";
import { COREDNS_IMAGE } from "./images.ts";
import { SERVICE_DNS } from "./layout.ts";

const NAMESPACE = "kube-system";
const NAME = "coredns";
const LABELS = { "k8s-app": "kube-dns" };

/** Resolves only the cluster's own names: there is no upstream server for other names. */
const COREFILE = `.:53 {
  errors
  health
  ready
  kubernetes cluster.local in-addr.arpa {
    pods insecure
  }
  cache 5
  reload
}
`;

export async function startClusterDns(cluster: Cluster): Promise<void> {
  const file = join(cluster.layout.directory, "cluster-dns.json");
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: [...rights(), ...server()] }));
  await cluster.kubectl("apply", "-f", file);
  await cluster.kubectl("rollout", "status", `deployment/${NAME}`, `--namespace=${NAMESPACE}`, "--timeout=90s");
}

const role = `system:${NAME}`;

function rights(): readonly object[] {
  const reads = (apiGroup: string, ...resources: readonly string[]) => ({
    apiGroups: [apiGroup],
    resources,
    verbs: ["list", "watch"],
  });
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: NAME, namespace: NAMESPACE } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: role },
      rules: [reads("", "services", "pods", "namespaces"), reads("discovery.k8s.io", "endpointslices")],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: role },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", name: NAME, namespace: NAMESPACE }],
    },
  ];
}

function server(): readonly object[] {
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: NAME, namespace: NAMESPACE },
      data: { Corefile: COREFILE },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "kube-dns", namespace: NAMESPACE, labels: LABELS },
      spec: {
        selector: LABELS,
        clusterIP: SERVICE_DNS,
        ports: [
          { name: "dns", port: 53, protocol: "UDP" },
          { name: "dns-tcp", port: 53, protocol: "TCP" },
        ],
      },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: NAME, namespace: NAMESPACE, labels: LABELS },
      spec: {
        selector: { matchLabels: LABELS },
        template: { metadata: { labels: LABELS }, spec: podSpec() },
      },
    },
  ];
}

function podSpec(): object {
  return {
    serviceAccountName: NAME,
    priorityClassName: "system-cluster-critical",
    dnsPolicy: "Default",
    terminationGracePeriodSeconds: 5,
    containers: [
      {
        name: NAME,
        image: COREDNS_IMAGE,
        args: ["-conf", "/etc/coredns/Corefile"],
        resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: { memory: "170Mi" } },
        ports: [
          { name: "dns", containerPort: 53, protocol: "UDP" },
          { name: "dns-tcp", containerPort: 53, protocol: "TCP" },
        ],
        securityContext: {
          allowPrivilegeEscalation: false,
          capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] },
          readOnlyRootFilesystem: true,
        },
        volumeMounts: [{ name: "config", mountPath: "/etc/coredns", readOnly: true }],
      },
    ],
    volumes: [{ name: "config", configMap: { name: NAME, items: [{ key: "Corefile", path: "Corefile" }] } }],
  };
}
