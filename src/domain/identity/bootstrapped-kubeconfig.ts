/**
 * The kubeconfig that a kubelet writes once it knows the path of its certificate, with the same keys as the Go
 * kubelet's.
 */
import { encodeBase64 } from "../../base/base64.ts";
import { utf8Bytes } from "../../base/utf8.ts";

export interface BootstrappedCluster {
  readonly url: string;
  readonly serverName?: string;
  readonly isInsecure?: true;
  readonly proxyUrl?: string;
  readonly authority:
    | { readonly kind: "file"; readonly path: string }
    | { readonly kind: "data"; readonly pem: string }
    | undefined;
}

/** Every string is in JSON form, which is valid YAML. */
export function bootstrappedKubeconfig(cluster: BootstrappedCluster, pairPath: string): string {
  const { url, serverName, authority, isInsecure, proxyUrl } = cluster;
  const line = (key: string, value: string) => `${key}: ${JSON.stringify(value)}`;
  const trusted = [
    ...(authority?.kind === "file" ? [line("certificate-authority", authority.path)] : []),
    ...(authority?.kind === "data" ? [line("certificate-authority-data", encodeBase64(utf8Bytes(authority.pem)))] : []),
  ];
  return [
    "apiVersion: v1",
    "clusters:",
    "- cluster:",
    ...[
      ...trusted,
      ...(isInsecure === true ? ["insecure-skip-tls-verify: true"] : []),
      ...(proxyUrl === undefined ? [] : [line("proxy-url", proxyUrl)]),
      line("server", url),
      ...(serverName === undefined ? [] : [line("tls-server-name", serverName)]),
    ].map((each) => `    ${each}`),
    "  name: default-cluster",
    "contexts:",
    "- context:",
    "    cluster: default-cluster",
    "    namespace: default",
    "    user: default-auth",
    "  name: default-context",
    "current-context: default-context",
    "kind: Config",
    "users:",
    "- name: default-auth",
    "  user:",
    `    ${line("client-certificate", pairPath)}`,
    `    ${line("client-key", pairPath)}`,
    "",
  ].join("\n");
}
