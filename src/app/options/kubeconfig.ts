/**
 * Reads a kubeconfig file as the connection it describes: its current context, and the files it names as they are now.
 * Links are followed, so that the next read finds a rotated certificate.
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { getCACertificates } from "node:tls";
import type { PairPaths } from "../../domain/identity/certificate-pair.ts";
import type { Connection, Credentials } from "../../wire/kube-api/connection.ts";
import { DocumentFault, FileFault, readDocument, reasonOf } from "./config-files.ts";
import { isObject } from "./decode-primitives.ts";

type Entry = Readonly<Record<string, unknown>>;

/**
 * A connection and the origin of its parts, for callers that write another kubeconfig or manage certificates
 * themselves.
 */
export interface Kubeconfig {
  readonly connection: Connection;
  /** Undefined: the CAs that the machine trusts. */
  readonly authority:
    | { readonly kind: "file"; readonly path: string }
    | { readonly kind: "data"; readonly pem: string }
    | undefined;
  /** Undefined: there is no certificate, or it is embedded in the kubeconfig. */
  readonly certificateFiles: PairPaths | undefined;
}

export const readKubeconfig = (path: string): Connection => openKubeconfig(path).connection;

export function openKubeconfig(path: string): Kubeconfig {
  const file = resolve(path);
  const fault = (why: string, cause?: unknown) => new FileFault(`invalid kubeconfig ${path}: ${why}`, { cause });
  const root = parsed(readText(file, fault), fault);
  const contextName = textOf(root, "current-context");
  if (contextName === "") throw fault("no current-context");
  const context = named(root, "contexts", contextName, "context", fault);
  const cluster = named(root, "clusters", textOf(context, "cluster"), "cluster", fault);
  const userName = textOf(context, "user");
  const user = userName === "" ? {} : named(root, "users", userName, "user", fault);
  const material = new Material(dirname(file), fault);
  const serverName = textOf(cluster, "tls-server-name");
  const authorityPem = material.pem(cluster, "certificate-authority");
  return {
    connection: {
      url: serverUrl(cluster, fault),
      ca: authorityPem ?? getCACertificates("system").join("\n"),
      credentials: credentialsOf(user, material, fault),
      ...(serverName === "" ? {} : { serverName }),
    },
    authority: authorityOf(material.file(cluster, "certificate-authority"), authorityPem),
    certificateFiles: filesOf(material.file(user, "client-certificate"), material.file(user, "client-key")),
  };
}

const authorityOf = (path: string | undefined, pem: string | undefined): Kubeconfig["authority"] =>
  path !== undefined ? { kind: "file", path } : pem === undefined ? undefined : { kind: "data", pem };

const filesOf = (certificate: string | undefined, key: string | undefined): Kubeconfig["certificateFiles"] =>
  certificate === undefined || key === undefined ? undefined : { certificate, key };

type Fault = (why: string, cause?: unknown) => FileFault;

function serverUrl(cluster: Entry, fault: Fault): string {
  const server = textOf(cluster, "server");
  if (server === "") throw fault("the cluster has no server");
  if (!URL.canParse(server) || new URL(server).protocol !== "https:")
    throw fault(`the server ${server} is not an https URL`);
  // Anyone on the network path could then act as the API server. The agent does not take that risk.
  if (cluster["insecure-skip-tls-verify"] === true)
    throw fault("insecure-skip-tls-verify is not supported, name a certificate-authority");
  if (textOf(cluster, "proxy-url") !== "") throw fault("proxy-url is not supported");
  return server;
}

function credentialsOf(user: Entry, material: Material, fault: Fault): Credentials {
  for (const key of ["exec", "auth-provider", "username", "password", "as", "as-uid", "as-groups"]) {
    if (user[key] !== undefined) throw fault(`the user's ${key} is not supported, use a client certificate or a token`);
  }
  const certificatePem = material.pem(user, "client-certificate");
  const keyPem = material.pem(user, "client-key");
  if ((certificatePem === undefined) !== (keyPem === undefined)) {
    throw fault("client-certificate and client-key belong together");
  }
  if (certificatePem !== undefined && keyPem !== undefined) return { kind: "certificate", certificatePem, keyPem };
  const tokenFile = textOf(user, "tokenFile");
  if (tokenFile !== "") return { kind: "tokenFile", path: material.path(tokenFile) };
  const token = textOf(user, "token");
  return token === "" ? { kind: "anonymous" } : { kind: "token", token };
}

/** Data in the kubeconfig itself, in base64, takes precedence over a file that it names. */
class Material {
  readonly #directory: string;
  readonly #fault: Fault;

  constructor(directory: string, fault: Fault) {
    this.#directory = directory;
    this.#fault = fault;
  }

  path(written: string): string {
    return resolve(this.#directory, written);
  }

  pem(entry: Entry, key: string): string | undefined {
    const data = textOf(entry, `${key}-data`);
    if (data !== "") return Buffer.from(data, "base64").toString("utf8");
    const path = this.file(entry, key);
    return path === undefined ? undefined : readText(path, this.#fault);
  }

  /** Returns undefined if the data is embedded, or if there is neither. */
  file(entry: Entry, key: string): string | undefined {
    const path = textOf(entry, key);
    return path === "" || textOf(entry, `${key}-data`) !== "" ? undefined : this.path(path);
  }
}

function parsed(text: string, fault: Fault): Entry {
  try {
    const { value } = readDocument(text);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof DocumentFault)) throw error;
    throw fault(error.message, error);
  }
  throw fault("not an object");
}

function named(root: Entry, list: string, name: string, key: string, fault: Fault): Entry {
  const entries = root[list];
  const found = Array.isArray(entries)
    ? (entries as readonly unknown[]).find((each) => isObject(each) && each["name"] === name)
    : undefined;
  const entry: unknown = isObject(found) ? found[key] : undefined;
  if (!isObject(entry)) throw fault(`there is no ${key} "${name}"`);
  return entry;
}

function textOf(entry: Entry, key: string): string {
  const value = entry[key];
  return typeof value === "string" ? value : "";
}

function readText(path: string, fault: Fault): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw fault(reasonOf(error, path), error);
  }
}
