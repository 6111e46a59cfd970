/**
 * Creates a certificate authority per cluster and all certificates of its components. Keys never leave the cluster's
 * directory.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { command } from "./command.ts";
import { type ClusterLayout, SERVICE_API } from "./layout.ts";

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Subject {
  readonly user: string;
  readonly groups?: readonly string[];
}

/** Creates both authorities, the service account key and the certificates of the control plane. */
export async function makeControlPlaneCertificates(layout: ClusterLayout): Promise<void> {
  await mkdir(layout.certificates, { recursive: true, mode: 0o700 });
  await Promise.all([
    makeAuthority(layout, "ca"),
    makeAuthority(layout, "front-proxy-ca"),
    makeKey(pki(layout, "service-account.key")),
  ]);
  await command("openssl", [
    "ec",
    "-in",
    pki(layout, "service-account.key"),
    "-pubout",
    "-out",
    pki(layout, "service-account.pub"),
  ]);
  const names = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "localhost",
  ];
  const addresses = [SERVICE_API, layout.address, "127.0.0.1"];
  await Promise.all([
    issue(layout, "ca", "apiserver", { user: "kube-apiserver" }, serving(names, addresses)),
    issue(layout, "front-proxy-ca", "front-proxy-client", { user: "front-proxy-client" }, CLIENT),
    ...(
      [
        ["admin", { user: "kubernetes-admin", groups: ["system:masters"] }],
        ["apiserver-kubelet-client", { user: "kube-apiserver-kubelet-client", groups: ["system:masters"] }],
        // All controllers run as this user.
        ["controller-manager", { user: "system:kube-controller-manager", groups: ["system:masters"] }],
        ["scheduler", { user: "system:kube-scheduler" }],
        ["kube-proxy", { user: "system:kube-proxy" }],
      ] as const
    ).map(([file, subject]) => issue(layout, "ca", file, subject, CLIENT)),
  ]);
}

/** Issues a client certificate that the API server authenticates as `subject`. */
export async function issueClientCertificate(
  layout: ClusterLayout,
  file: string,
  subject: Subject,
): Promise<CertificateFiles> {
  return issue(layout, "ca", file, subject, CLIENT);
}

/** Issues a serving certificate for one address, trusted by clients of the API server. */
export async function issueServingCertificate(
  layout: ClusterLayout,
  file: string,
  address: string,
): Promise<CertificateFiles> {
  return issue(layout, "ca", file, { user: file }, serving([], [address]));
}

export async function writeKubeconfig(
  layout: ClusterLayout,
  path: string,
  { certFile, keyFile }: CertificateFiles,
): Promise<void> {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: layout.name, cluster: { server: layout.apiUrl, "certificate-authority": pki(layout, "ca.crt") } },
    ],
    users: [{ name: "user", user: { "client-certificate": certFile, "client-key": keyFile } }],
    contexts: [{ name: layout.name, context: { cluster: layout.name, user: "user" } }],
    "current-context": layout.name,
  };
  await writeFile(path, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 }); // JSON is valid YAML.
}

export const pki = (layout: ClusterLayout, file: string) => join(layout.certificates, file);

const CLIENT = ["keyUsage=critical,digitalSignature", "extendedKeyUsage=clientAuth"];

function serving(names: readonly string[], addresses: readonly string[]): readonly string[] {
  const alternatives = [...names.map((name) => `DNS:${name}`), ...addresses.map((address) => `IP:${address}`)];
  return [
    "keyUsage=critical,digitalSignature",
    "extendedKeyUsage=serverAuth",
    `subjectAltName=${alternatives.join(",")}`,
  ];
}

const makeKey = (path: string) =>
  command("openssl", ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path]);

const AUTHORITY = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,digitalSignature"];

const makeAuthority = (layout: ClusterLayout, name: string) =>
  makeCertificate(layout, name, { user: `${layout.name}-${name}` }, AUTHORITY);

const issue = (
  layout: ClusterLayout,
  authority: string,
  file: string,
  subject: Subject,
  extensions: readonly string[],
): Promise<CertificateFiles> =>
  makeCertificate(
    layout,
    file,
    subject,
    [...extensions, "basicConstraints=CA:FALSE"],
    ["-CA", pki(layout, `${authority}.crt`), "-CAkey", pki(layout, `${authority}.key`)],
  );

/** Creates a key and its certificate in one process. A cluster needs ten, and a process costs more than the key. */
async function makeCertificate(
  layout: ClusterLayout,
  file: string,
  { user, groups = [] }: Subject,
  extensions: readonly string[],
  signer: readonly string[] = [],
): Promise<CertificateFiles> {
  const [keyFile, certFile] = [pki(layout, `${file}.key`), pki(layout, `${file}.crt`)];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout", keyFile];
  const name = ["-subj", `${groups.map((group) => `/O=${group}`).join("")}/CN=${user}`];
  const life = ["-set_serial", `0x${crypto.randomUUID().replaceAll("-", "")}`, "-days", "30"];
  const added = extensions.flatMap((extension) => ["-addext", extension]);
  await command("openssl", ["req", "-x509", ...key, ...name, ...life, ...added, ...signer, "-out", certFile]);
  return { certFile, keyFile };
}
