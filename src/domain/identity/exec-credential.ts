/**
 * The exchange with a credential plugin of a kubeconfig (client.authentication.k8s.io): its input in
 * KUBERNETES_EXEC_INFO, and its output. Error texts are client-go's.
 */
import { certificateFacts } from "./x509-read.ts";

export const EXEC_API_VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] as const;
export type ExecApiVersion = (typeof EXEC_API_VERSIONS)[number];

/** The cluster as a plugin sees it. */
export interface ExecCluster {
  readonly server: string;
  readonly "tls-server-name"?: string;
  readonly "insecure-skip-tls-verify"?: true;
  readonly "certificate-authority-data"?: string;
  readonly "proxy-url"?: string;
  /** The cluster's extension client.authentication.k8s.io/exec. */
  readonly config?: unknown;
}

export interface ExecPlugin {
  readonly apiVersion: ExecApiVersion;
  /** An absolute path, or a name to be found in PATH. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** What the user is to do when the command does not exist. */
  readonly installHint: string;
  /** Undefined: the plugin does not get it. */
  readonly cluster: ExecCluster | undefined;
}

export interface PluginCredentials {
  readonly token: string | undefined;
  readonly certificate: { readonly certificatePem: string; readonly keyPem: string } | undefined;
  /** Undefined: until the API server rejects them. */
  readonly expiresWallMs: number | undefined;
}

/** The value of KUBERNETES_EXEC_INFO. The agent has no terminal, so no plugin may ask anything. */
export const execInfo = ({ apiVersion, cluster }: ExecPlugin): string =>
  JSON.stringify({
    kind: "ExecCredential",
    apiVersion,
    spec: { ...(cluster === undefined ? {} : { cluster }), interactive: false },
  });

/** Throws for output that holds no credentials. No message contains a part of the output, which may be secret. */
export function parseExecCredential(output: string, { apiVersion }: ExecPlugin): PluginCredentials {
  const answer = objectIn(output);
  if (answer?.["kind"] !== "ExecCredential") throw new Error("decoding stdout: it is no ExecCredential");
  if (answer["apiVersion"] !== apiVersion) {
    const returned = typeof answer["apiVersion"] === "string" ? answer["apiVersion"].slice(0, VERSION_CHARS_MAX) : "";
    throw new Error(`exec plugin is configured to use API version ${apiVersion}, plugin returned version ${returned}`);
  }
  const status = answer["status"];
  if (!isObject(status)) throw new Error("exec plugin didn't return a status field");
  const [token, certificatePem, keyPem] = ["token", "clientCertificateData", "clientKeyData"].map((key) =>
    textIn(status, key),
  );
  if (token === undefined && certificatePem === undefined && keyPem === undefined) {
    throw new Error("exec plugin didn't return a token or cert/key pair");
  }
  if ((certificatePem === undefined) !== (keyPem === undefined)) {
    throw new Error("exec plugin returned only certificate or key, not both");
  }
  const certificate = certificatePem === undefined || keyPem === undefined ? undefined : { certificatePem, keyPem };
  return { token, certificate, expiresWallMs: expiryOf(status, certificate?.certificatePem) };
}

const VERSION_CHARS_MAX = 100;

/** The earlier of the plugin's own time and the end of the certificate's validity. */
function expiryOf(status: Fields, certificatePem: string | undefined): number | undefined {
  const written = textIn(status, "expirationTimestamp");
  const writtenMs = written === undefined ? Number.NaN : Date.parse(written);
  if (written !== undefined && Number.isNaN(writtenMs)) {
    throw new Error("decoding stdout: the expirationTimestamp is no time");
  }
  const [certificate] = certificatePem === undefined ? [] : certificateFacts(certificatePem);
  if (certificatePem !== undefined && certificate === undefined) {
    throw new Error("failed parsing client key/certificate: there is no certificate");
  }
  const times = [
    ...(written === undefined ? [] : [writtenMs]),
    ...(certificate === undefined ? [] : [certificate.notAfterWallMs]),
  ];
  return times.length === 0 ? undefined : Math.min(...times);
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function objectIn(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function textIn(fields: Fields, key: string): string | undefined {
  const value = fields[key];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw new Error(`decoding stdout: ${key} is no string`);
  return value;
}
