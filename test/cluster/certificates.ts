/** A certificate authority per cluster, and every certificate its parts show each other. Keys never leave the cluster's folder. */
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

/** Makes both authorities, the service account key and the certificates of the control plane. */
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
        ["controller-manager", { user: "system:kube-controller-manager" }],
        ["scheduler", { user: "system:kube-scheduler" }],
        ["kube-proxy", { user: "system:kube-proxy" }],
      ] as const
    ).map(([file, subject]) => issue(layout, "ca", file, subject, CLIENT)),
  ]);
}

/** A client certificate the API server takes for `subject`. */
export async function issueClientCertificate(
  layout: ClusterLayout,
  file: string,
  subject: Subject,
): Promise<CertificateFiles> {
  return issue(layout, "ca", file, subject, CLIENT);
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
  await writeFile(path, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 }); // JSON is YAML too.
}

export const pki = (layout: ClusterLayout, file: string) => join(layout.certificates, file);

const CLIENT = "keyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\n";

function serving(names: readonly string[], addresses: readonly string[]): string {
  const alternatives = [...names.map((name) => `DNS:${name}`), ...addresses.map((address) => `IP:${address}`)];
  return `keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\nsubjectAltName=${alternatives.join(",")}\n`;
}

const makeKey = (path: string) =>
  command("openssl", ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path]);

async function makeAuthority(layout: ClusterLayout, name: string): Promise<void> {
  const key = pki(layout, `${name}.key`);
  await makeKey(key);
  const extensions = [
    "-addext",
    "basicConstraints=critical,CA:TRUE",
    "-addext",
    "keyUsage=critical,keyCertSign,digitalSignature",
  ];
  await command("openssl", [
    "req",
    "-x509",
    "-new",
    "-key",
    key,
    "-days",
    "30",
    "-subj",
    `/CN=${layout.name}-${name}`,
    "-out",
    pki(layout, `${name}.crt`),
    ...extensions,
  ]);
}

async function issue(
  layout: ClusterLayout,
  authority: string,
  file: string,
  { user, groups = [] }: Subject,
  extensions: string,
): Promise<CertificateFiles> {
  const [keyFile, certFile] = [pki(layout, `${file}.key`), pki(layout, `${file}.crt`)];
  await makeKey(keyFile);
  const subject = `${groups.map((group) => `/O=${group}`).join("")}/CN=${user}`;
  const request = await command("openssl", ["req", "-new", "-key", keyFile, "-subj", subject]);
  const extensionFile = pki(layout, `${file}.ext`);
  await writeFile(extensionFile, extensions);
  const signer = ["-CA", pki(layout, `${authority}.crt`), "-CAkey", pki(layout, `${authority}.key`)];
  const serial = ["-set_serial", `0x${crypto.randomUUID().replaceAll("-", "")}`];
  await command(
    "openssl",
    ["x509", "-req", ...signer, ...serial, "-days", "30", "-extfile", extensionFile, "-out", certFile],
    { input: request },
  );
  return { certFile, keyFile };
}
