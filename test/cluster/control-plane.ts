/**
 * Command lines of the control plane and the registries. Comments explain the flags whose purpose on this kind of
 * machine is not obvious.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeControlPlaneCertificates, pki, writeKubeconfig } from "./certificates.ts";
import { type ClusterLayout, SERVICE_RANGE } from "./layout.ts";
import type { Parts } from "./parts.ts";
import type { ReadyCheck } from "./record.ts";

export interface Program {
  readonly name: string;
  readonly part?: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The existing cgroup that it runs in; unless given, the one of all programs of the cluster. */
  readonly cgroup?: string;
  readonly ready: ReadyCheck;
}

const flags = (values: Readonly<Record<string, string | number | boolean>>) =>
  Object.entries(values).map(([name, value]) => `--${name}=${value}`);

export function etcd(layout: ClusterLayout, parts: Parts): Program {
  const command = [
    parts.path("etcd"),
    ...flags({
      "data-dir": join(layout.directory, "etcd"),
      "listen-client-urls": "http://127.0.0.1:2379",
      "advertise-client-urls": "http://127.0.0.1:2379",
      "listen-peer-urls": "http://127.0.0.1:2380",
      // A test cluster survives kill -9 of etcd, because the page cache stays, and need not survive a power loss.
      "unsafe-no-fsync": true,
      "log-level": "warn",
    }),
  ];
  return { name: "etcd", command, ready: { kind: "listens", port: 2379 } };
}

export async function kubeApiServer(
  layout: ClusterLayout,
  parts: Parts,
  more: Readonly<Record<string, string>> = {},
): Promise<Program> {
  await makeControlPlaneCertificates(layout);
  const file = (name: string) => pki(layout, name);
  await writeKubeconfig(layout, layout.kubeconfig, { certFile: file("admin.crt"), keyFile: file("admin.key") });
  const auditPolicy = join(layout.directory, "audit-policy.json");
  await writeFile(auditPolicy, JSON.stringify(AUDIT_POLICY));
  const command = [
    parts.path("kube-apiserver"),
    ...flags({
      "etcd-servers": "http://127.0.0.1:2379",
      "advertise-address": layout.address,
      "secure-port": 6443,
      "service-cluster-ip-range": SERVICE_RANGE,
      "authorization-mode": "Node,RBAC",
      "enable-admission-plugins": "NodeRestriction",
      "allow-privileged": true,
      "client-ca-file": file("ca.crt"),
      "enable-bootstrap-token-auth": true,
      "tls-cert-file": file("apiserver.crt"),
      "tls-private-key-file": file("apiserver.key"),
      "kubelet-client-certificate": file("apiserver-kubelet-client.crt"),
      "kubelet-client-key": file("apiserver-kubelet-client.key"),
      "kubelet-preferred-address-types": "InternalIP",
      "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
      "service-account-key-file": file("service-account.pub"),
      "service-account-signing-key-file": file("service-account.key"),
      "requestheader-client-ca-file": file("front-proxy-ca.crt"),
      "requestheader-allowed-names": "front-proxy-client",
      "requestheader-username-headers": "X-Remote-User",
      "requestheader-group-headers": "X-Remote-Group",
      "requestheader-extra-headers-prefix": "X-Remote-Extra-",
      "proxy-client-cert-file": file("front-proxy-client.crt"),
      "proxy-client-key-file": file("front-proxy-client.key"),
      "enable-aggregator-routing": true,
      "audit-policy-file": auditPolicy,
      "audit-log-path": layout.auditLog,
      "audit-log-mode": "blocking",
      // One file, whatever its size: a reader that follows the log would miss the next file. In megabytes; 0 means 100.
      "audit-log-maxsize": 100_000,
      ...more,
    }),
  ];
  return { name: "kube-apiserver", command, ready: { kind: "apiServer" } };
}

/**
 * Keeps the bodies of what a node writes: tests prove the order of pod termination from them. The bodies of namespaces
 * and pods identify the test that created them.
 */
const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    {
      level: "Request",
      resources: [
        { group: "", resources: ["namespaces", "pods", "pods/status", "nodes", "nodes/status", "events"] },
        { group: "coordination.k8s.io", resources: ["leases"] },
      ],
    },
    { level: "Metadata" },
  ],
};

export async function kubeControllerManager(
  layout: ClusterLayout,
  parts: Parts,
  signingSeconds = 365 * 24 * 3600,
): Promise<Program> {
  const kubeconfig = await componentKubeconfig(layout, "controller-manager");
  const command = [
    parts.path("kube-controller-manager"),
    ...flags({
      kubeconfig,
      "authentication-kubeconfig": kubeconfig,
      "authorization-kubeconfig": kubeconfig,
      controllers:
        "*,-node-ipam-controller,-cloud-node-lifecycle-controller,-service-lb-controller,-node-route-controller",
      // An account per controller makes a cluster's start a quarter slower: forty tokens and connections.
      "use-service-account-credentials": false,
      "service-account-private-key-file": pki(layout, "service-account.key"),
      "cluster-signing-cert-file": pki(layout, "ca.crt"),
      "cluster-signing-key-file": pki(layout, "ca.key"),
      "cluster-signing-duration": `${signingSeconds}s`,
      "root-ca-file": pki(layout, "ca.crt"),
      "leader-elect": false,
      // The controller manager creates this directory; its default is a path of the machine.
      "flex-volume-plugin-dir": join(layout.directory, "volume-plugins"),
    }),
  ];
  return { name: "kube-controller-manager", command, ready: { kind: "listens", port: 10257 } };
}

export async function kubeScheduler(layout: ClusterLayout, parts: Parts): Promise<Program> {
  const kubeconfig = await componentKubeconfig(layout, "scheduler");
  const command = [
    parts.path("kube-scheduler"),
    ...flags({
      kubeconfig,
      "authentication-kubeconfig": kubeconfig,
      "authorization-kubeconfig": kubeconfig,
      "leader-elect": false,
    }),
  ];
  return { name: "kube-scheduler", command, ready: { kind: "listens", port: 10259 } };
}

async function componentKubeconfig(layout: ClusterLayout, file: string): Promise<string> {
  const path = join(layout.directory, `${file}.kubeconfig`);
  await writeKubeconfig(layout, path, { certFile: pki(layout, `${file}.crt`), keyFile: pki(layout, `${file}.key`) });
  return path;
}

export const REGISTRY_USERNAME = "deckhand";
export const REGISTRY_PASSWORD = "a-password-for-tests";
/** bcrypt hash of the password, the only form that the registry accepts. */
const REGISTRY_HTPASSWD = "deckhand:$2a$06$DUgFqc5/ICaeZqBkxjFxFe5TruRuNMtJGUDOhrxPnWBE1QL5IPtsK";

/** Two registries with the same images: one open, one that requires credentials. Both are read-only. */
export async function registries(layout: ClusterLayout, parts: Parts, storage: string): Promise<readonly Program[]> {
  const directory = join(layout.directory, "registry");
  await mkdir(directory, { recursive: true });
  const htpasswd = join(directory, "htpasswd");
  await writeFile(htpasswd, `${REGISTRY_HTPASSWD}\n`);
  const doors = [
    { name: "registry", port: 5000, auth: {} },
    { name: "registry-guarded", port: 5001, auth: { auth: { htpasswd: { realm: "deckhand", path: htpasswd } } } },
  ];
  return Promise.all(
    doors.map(async ({ name, port, auth }) => {
      const file = join(directory, `${name}.json`);
      const config = {
        version: "0.1",
        log: { level: "warn", accesslog: { disabled: false } },
        storage: { filesystem: { rootdirectory: storage }, maintenance: { readonly: { enabled: true } } },
        http: { addr: `:${port}`, secret: "the same for both" },
        ...auth,
      };
      await writeFile(file, JSON.stringify(config));
      const command = [parts.path("registry"), "serve", file];
      return { name, command, env: { OTEL_TRACES_EXPORTER: "none" }, ready: { kind: "listens", port } } as const;
    }),
  );
}
