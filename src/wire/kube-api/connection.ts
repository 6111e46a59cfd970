/** The API server's address, the CAs that we trust there, and our credentials. */
import { isIP } from "node:net";
import { checkServerIdentity, createSecureContext, type PeerCertificate, type SecureContext } from "node:tls";
import type { ExecPlugin } from "../../domain/identity/exec-credential.ts";

export interface Connection {
  /** "https://host:port", plus a path if the server is behind one. The server's certificate must contain the host. */
  readonly url: string;
  /** The name in the server's certificate, if it is not the host of the URL. */
  readonly serverName?: string;
  /** PEM bundle: only certificates signed by these CAs are accepted. */
  readonly ca: string;
  /** The server need not prove its identity: insecure-skip-tls-verify of the kubeconfig. */
  readonly isInsecure?: true;
  /** An HTTP proxy on the way to the server. Undefined: the connection is direct. */
  readonly proxy?: Proxy;
  readonly credentials: Credentials;
}

export interface Proxy {
  /** "http:" or "https:". */
  readonly url: URL;
  /** Trusted for an HTTPS proxy's certificate: the cluster's CAs, as in Go, and the machine's. */
  readonly ca: readonly string[];
}

export type Credentials =
  | { readonly kind: "certificate"; readonly certificatePem: string; readonly keyPem: string }
  /** Read again when the file changes: tokens of this kind live for an hour. */
  | { readonly kind: "tokenFile"; readonly path: string }
  | { readonly kind: "token"; readonly token: string }
  /** A program prints a token, a certificate or both. */
  | { readonly kind: "exec"; readonly plugin: ExecPlugin }
  | { readonly kind: "anonymous" }
  /** Not available yet: requests wait for credentials until their deadline. */
  | { readonly kind: "awaited" };

/** Created once per set of credentials, because parsing a CA bundle for every connection is expensive. */
export function secureContextOf({ ca, credentials }: Pick<Connection, "ca" | "credentials">): SecureContext {
  const own = credentials.kind === "certificate" ? { cert: credentials.certificatePem, key: credentials.keyPem } : {};
  return createSecureContext({ ca, minVersion: "TLSv1.2", ...own });
}

interface ServerNaming {
  readonly servername: string;
  readonly checkServerIdentity?: (host: string, certificate: PeerCertificate) => Error | undefined;
}

/** How TLS names a server. An IP address is compared with the certificate, but it is never sent as a server name. */
export function serverNaming(url: URL, serverName?: string): ServerNaming {
  const name = serverName ?? unbracketed(url.hostname);
  if (isIP(name) === 0) return { servername: name };
  return { servername: "", checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate) };
}

/** A URL writes an IPv6 address in brackets. */
export const unbracketed = (host: string): string => host.replace(/^\[(.*)\]$/, "$1");
