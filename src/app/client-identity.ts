/**
 * Decides from the two kubeconfigs, before any client exists, which credentials the agent uses for the API server.
 * Without a bootstrap kubeconfig the kubeconfig is used as it is. With one, a kubeconfig that is missing or no longer
 * valid is replaced by one for the certificate that the bootstrap credentials obtain.
 */
import { dirname } from "node:path";
import { errorText } from "../base/error-text.ts";
import { utf8Bytes } from "../base/utf8.ts";
import { bootstrapCertificate } from "../controllers/identity/bootstrap.ts";
import { CertificateStore, pairOf } from "../controllers/identity/certificate-store.ts";
import { PendingKey } from "../controllers/identity/pending-key.ts";
import { bootstrappedKubeconfig } from "../domain/identity/bootstrapped-kubeconfig.ts";
import type { CertificatePair } from "../domain/identity/certificate-pair.ts";
import { certificateFacts } from "../domain/identity/x509-read.ts";
import type { ApiServer } from "../ports/api-server.ts";
import type { Clock } from "../ports/clock.ts";
import type { HostFiles } from "../ports/host-files.ts";
import type { Keys } from "../ports/keys.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";
import type { Connection } from "../wire/kube-api/connection.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";
import { type Kubeconfig, openKubeconfig } from "./options/kubeconfig.ts";

export interface ClientIdentity {
  readonly connection: Connection;
  /** Undefined: the credentials are not rotated. */
  readonly rotation: RotatedIdentity | undefined;
}

export interface RotatedIdentity {
  /** Connection that requests certificates while there is no valid one. */
  readonly bootstrap: Connection;
  /** Certificate pair embedded in the kubeconfig. It is replaced at once. */
  readonly embedded: CertificatePair | undefined;
  readonly certificateFiles: Kubeconfig["certificateFiles"];
}

export interface ClientIdentityParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: HostFiles;
  readonly keys: Keys;
  readonly log: Log;
  readonly connect: (connection: Connection) => ApiServer & { close(): Promise<void> };
}

export async function clientIdentity(
  { identity, directories, node, api }: CompiledOptions,
  parts: ClientIdentityParts,
  signal: AbortSignal,
): Promise<ClientIdentity | undefined> {
  if (api.kind === "standalone") return undefined;
  const { kubeconfigPath } = api;
  const { bootstrapKubeconfigPath, rotates } = identity;
  const { keys, clock, log } = parts;
  const store = new CertificateStore({ ...parts, directory: directories.certificates, prefix: "kubelet-client" });
  // Recover the store first: the kubeconfig may point to the link that this restores.
  if (rotates || bootstrapKubeconfigPath !== "") await store.recover();
  if (bootstrapKubeconfigPath === "" || isStillValid(kubeconfigPath, clock.wallMs(), log)) {
    return ofKubeconfig(openKubeconfig(kubeconfigPath), rotates, keys);
  }
  const bootstrap = openKubeconfig(bootstrapKubeconfigPath);
  const { connection } = bootstrap;
  const write = async () => {
    await parts.files.makeDirectory(dirname(kubeconfigPath), 0o755);
    const { authority, proxyUrl } = bootstrap;
    const cluster = { ...connection, authority, ...(proxyUrl === undefined ? {} : { proxyUrl }) };
    const text = bootstrappedKubeconfig(cluster, store.currentPath);
    await parts.files.writeAtomically(kubeconfigPath, utf8Bytes(text), 0o600);
  };
  if (rotates) {
    log.info(2, "Use the bootstrap credentials to request a cert, and set kubeconfig to point to the certificate dir");
    await write();
    const rotation = { bootstrap: connection, embedded: undefined, certificateFiles: undefined };
    return { connection: { ...connection, credentials: { kind: "awaited" } }, rotation };
  }
  log.info(2, "Using bootstrap kubeconfig to generate TLS client cert, key and kubeconfig file");
  const client = parts.connect(connection);
  try {
    const pendingKey = new PendingKey({ ...parts, directory: directories.certificates });
    await bootstrapCertificate({ ...parts, api: client, nodeName: node.name, store, pendingKey }, signal);
  } finally {
    await client.close();
  }
  await write();
  return ofKubeconfig(openKubeconfig(kubeconfigPath), rotates, keys);
}

function ofKubeconfig({ connection, certificateFiles }: Kubeconfig, rotates: boolean, keys: Keys): ClientIdentity {
  if (!rotates) return { connection, rotation: undefined };
  const { credentials } = connection;
  const isEmbedded = credentials.kind === "certificate" && certificateFiles === undefined;
  const embedded = isEmbedded ? pairOf(keys, credentials.certificatePem, credentials.keyPem) : undefined;
  return { connection, rotation: { bootstrap: connection, embedded, certificateFiles } };
}

/** Returns whether the kubeconfig has a client certificate and no certificate of its chain has expired. */
function isStillValid(path: string, wallMs: number, log: Log): boolean {
  try {
    const { credentials } = openKubeconfig(path).connection;
    if (credentials.kind !== "certificate") throw new Error("it has no client certificate");
    const chain = certificateFacts(credentials.certificatePem);
    if (chain.length === 0) throw new Error("it has no client certificate");
    const expired = chain.find(({ notAfterWallMs }) => wallMs > notAfterWallMs);
    if (expired === undefined) return true;
    throw new Error(
      `part of the existing client certificate is expired: ${new Date(expired.notAfterWallMs).toISOString()}`,
    );
  } catch (error) {
    log.info(0, "The kubeconfig cannot be used; the bootstrap kubeconfig is", { path, err: errorText(error) });
    return false;
  }
}
