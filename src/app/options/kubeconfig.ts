/**
 * Reads a kubeconfig file as the connection it describes: its current context, and the files it names as they are now.
 * Links are followed, so that the next read finds a rotated certificate.
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { getCACertificates } from "node:tls";
import { errorText } from "../../base/error-text.ts";
import type { PairPaths } from "../../domain/identity/certificate-pair.ts";
import { EXEC_API_VERSIONS, type ExecApiVersion, type ExecCluster } from "../../domain/identity/exec-credential.ts";
import type { Connection, Credentials } from "../../wire/kube-api/connection.ts";
import { parseProxyUrl, proxyFromEnvironment } from "../../wire/kube-api/proxy-choice.ts";
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
  /** The proxy-url that the kubeconfig contains, not the environment's. */
  readonly proxyUrl: string | undefined;
  /** Undefined: there is no certificate, or it is embedded in the kubeconfig. */
  readonly certificateFiles: PairPaths | undefined;
}

export const readKubeconfig = (path: string): Connection => openKubeconfig(path).connection;

type Environment = Readonly<Record<string, string | undefined>>;

export function openKubeconfig(path: string, environment: Environment = process.env): Kubeconfig {
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
  const isInsecure = cluster["insecure-skip-tls-verify"] === true;
  if (isInsecure && authorityPem !== undefined) {
    throw fault("specifying a root certificates file with the insecure flag is not allowed");
  }
  const url = serverUrl(cluster, fault);
  const proxy = proxyOf(cluster, url, environment, fault);
  const own = authorityPem === undefined ? [] : [authorityPem];
  return {
    connection: {
      url,
      ca: authorityPem ?? getCACertificates("system").join("\n"),
      credentials: credentialsOf(user, { material, fault, execCluster: () => execClusterOf(cluster, authorityPem) }),
      ...(serverName === "" ? {} : { serverName }),
      ...(proxy === undefined ? {} : { proxy: { url: proxy, ca: [...own, ...getCACertificates("system")] } }),
      ...(isInsecure ? { isInsecure } : {}),
    },
    proxyUrl: textOf(cluster, "proxy-url") || undefined,
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
  return server;
}

/** The proxy-url of the cluster takes precedence over the environment. */
function proxyOf(cluster: Entry, url: string, environment: Environment, fault: Fault): URL | undefined {
  const written = textOf(cluster, "proxy-url");
  try {
    return written === "" ? proxyFromEnvironment(new URL(url), environment) : parseProxyUrl(written);
  } catch (error) {
    throw fault(`${written === "" ? "HTTPS_PROXY" : "proxy-url"}: ${errorText(error)}`, error);
  }
}

/** The cluster as a plugin sees it that asks for it. */
function execClusterOf(cluster: Entry, authorityPem: string | undefined): ExecCluster {
  const { extensions } = cluster;
  const extension = Array.isArray(extensions)
    ? (extensions as readonly unknown[]).find((each) => isObject(each) && each["name"] === EXEC_EXTENSION)
    : undefined;
  const [serverName, proxyUrl] = [textOf(cluster, "tls-server-name"), textOf(cluster, "proxy-url")];
  return {
    server: textOf(cluster, "server"),
    ...(serverName === "" ? {} : { "tls-server-name": serverName }),
    ...(cluster["insecure-skip-tls-verify"] === true ? { "insecure-skip-tls-verify": true } : {}),
    ...(authorityPem === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(authorityPem).toString("base64") }),
    ...(proxyUrl === "" ? {} : { "proxy-url": proxyUrl }),
    ...(isObject(extension) ? { config: jsonValue(extension["extension"]) } : {}),
  };
}

const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

interface UserParts {
  readonly material: Material;
  readonly fault: Fault;
  readonly execCluster: () => ExecCluster;
}

/** As in client-go, a certificate or a token takes precedence over an exec plugin. */
function credentialsOf(user: Entry, parts: UserParts): Credentials {
  const { material, fault } = parts;
  for (const key of ["auth-provider", "username", "password", "as", "as-uid", "as-groups"]) {
    if (user[key] !== undefined) {
      throw fault(`the user's ${key} is not supported, use a client certificate, a token or an exec plugin`);
    }
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
  if (token !== "") return { kind: "token", token };
  const { exec } = user;
  return isObject(exec) ? execOf(exec, parts) : { kind: "anonymous" };
}

function execOf(exec: Entry, { material, fault, execCluster }: UserParts): Credentials {
  const [command, apiVersion] = [textOf(exec, "command"), textOf(exec, "apiVersion")];
  if (command === "") throw fault("the exec plugin has no command");
  if (!isExecApiVersion(apiVersion)) {
    throw fault(
      `the exec plugin's apiVersion must be ${EXEC_API_VERSIONS.join(" or ")}, found ${JSON.stringify(apiVersion)}`,
    );
  }
  const interactiveMode = textOf(exec, "interactiveMode") || (apiVersion.endsWith("/v1beta1") ? "IfAvailable" : "");
  if (interactiveMode === "Always") {
    throw fault("exec plugin cannot support interactive mode: standard input is unavailable");
  }
  if (interactiveMode !== "Never" && interactiveMode !== "IfAvailable") {
    throw fault(
      `the exec plugin's interactiveMode must be Never or IfAvailable, found ${JSON.stringify(interactiveMode)}`,
    );
  }
  return {
    kind: "exec",
    plugin: {
      apiVersion,
      // A command without a slash is found in PATH.
      command: command.includes("/") ? material.path(command) : command,
      args: listOf(exec, "args").map((arg) => {
        if (typeof arg !== "string") throw fault("an argument of the exec plugin is no string");
        return arg;
      }),
      env: listOf(exec, "env").map((variable) => {
        const name = isObject(variable) ? textOf(variable, "name") : "";
        if (name === "" || !isObject(variable)) throw fault("a variable of the exec plugin has no name");
        const { value = "" } = variable;
        if (typeof value !== "string") throw fault(`the value of ${name} of the exec plugin is no string`);
        return { name, value };
      }),
      installHint: textOf(exec, "installHint").trim(),
      cluster: exec["provideClusterInfo"] === true ? execCluster() : undefined,
    },
  };
}

/** A document's integers are bigints, which JSON does not know. */
function jsonValue(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(jsonValue);
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, jsonValue(each)]))
    : value;
}

const isExecApiVersion = (text: string): text is ExecApiVersion =>
  (EXEC_API_VERSIONS as readonly string[]).includes(text);

function listOf(entry: Entry, key: string): readonly unknown[] {
  const value = entry[key];
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
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
