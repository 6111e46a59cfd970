/**
 * The backend of `kubectl top`: metrics-server as a Deployment in kube-system, behind the API server's aggregation
 * layer. The scheduler chooses the node, and that node's agent runs it. It reaches the API server only by its service
 * account, and scrapes `/metrics/resource` from every node's agent.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";
import { METRICS_SERVER_IMAGE } from "./images.ts";

const NAMESPACE = "kube-system";
const NAME = "metrics-server";
const LABELS = { "k8s-app": NAME };
const GROUP = "metrics.k8s.io";
const PORT = 10250;

/**
 * Resolves when the API server forwards requests to metrics-server. Metrics are available after it has scraped each
 * node twice.
 */
export async function startMetricsServer(cluster: Cluster): Promise<void> {
  const file = join(cluster.layout.directory, "metrics-server.json");
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: [...rights(), ...server()] }));
  await cluster.kubectl("apply", "-f", file);
  await cluster.kubectl("rollout", "status", `deployment/${NAME}`, `--namespace=${NAMESPACE}`, "--timeout=90s");
  await cluster.kubectl("wait", "--for=condition=Available", `apiservice/v1beta1.${GROUP}`, "--timeout=90s");
}

function rights(): readonly object[] {
  const rbac = "rbac.authorization.k8s.io";
  const subjects = [{ kind: "ServiceAccount", name: NAME, namespace: NAMESPACE }];
  const bound = (name: string, role: string) => ({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
    subjects,
  });
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: NAME, namespace: NAMESPACE } },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name: `system:${NAME}` },
      rules: [
        { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
        { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] },
      ],
    },
    bound(`system:${NAME}`, `system:${NAME}`),
    bound(`${NAME}:system:auth-delegator`, "system:auth-delegator"),
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata: { name: `${NAME}-auth-reader`, namespace: NAMESPACE },
      roleRef: { apiGroup: rbac, kind: "Role", name: "extension-apiserver-authentication-reader" },
      subjects,
    },
  ];
}

function server(): readonly object[] {
  const metadata = { name: NAME, namespace: NAMESPACE, labels: LABELS };
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { selector: LABELS, ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: "https" }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: { selector: { matchLabels: LABELS }, template: { metadata: { labels: LABELS }, spec: podSpec() } },
    },
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: `v1beta1.${GROUP}` },
      spec: {
        group: GROUP,
        version: "v1beta1",
        service: { name: NAME, namespace: NAMESPACE },
        // metrics-server creates its own certificate, a new one at every start.
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    },
  ];
}

/**
 * Upstream's manifest without probes, which not every agent here runs, and without verification of node certificates,
 * which no authority has signed.
 */
function podSpec(): object {
  return {
    serviceAccountName: NAME,
    priorityClassName: "system-cluster-critical",
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: NAME,
        image: METRICS_SERVER_IMAGE,
        args: [
          "--cert-dir=/tmp",
          `--secure-port=${PORT}`,
          "--kubelet-preferred-address-types=InternalIP",
          "--kubelet-use-node-status-port",
          "--kubelet-insecure-tls",
          // The shortest interval that metrics-server allows; it must be longer than the request timeout.
          "--kubelet-request-timeout=5s",
          "--metric-resolution=10s",
        ],
        resources: { requests: { cpu: "10m", memory: "32Mi" } },
        ports: [{ name: "https", containerPort: PORT, protocol: "TCP" }],
        securityContext: {
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          runAsUser: 1000,
        },
        volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
      },
    ],
    volumes: [{ name: "tmp", emptyDir: {} }],
  };
}
