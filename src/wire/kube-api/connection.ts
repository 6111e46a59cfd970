/** The API server's address, the CAs that we trust there, and our credentials. */
import { createSecureContext, type SecureContext } from "node:tls";

export interface Connection {
  /** "https://host:port", plus a path if the server is behind one. The server's certificate must contain the host. */
  readonly url: string;
  /** The name in the server's certificate, if it is not the host of the URL. */
  readonly serverName?: string;
  /** PEM bundle: only certificates signed by these CAs are accepted. */
  readonly ca: string;
  readonly credentials: Credentials;
}

export type Credentials =
  | { readonly kind: "certificate"; readonly certificatePem: string; readonly keyPem: string }
  /** Read again when the file changes: tokens of this kind live for an hour. */
  | { readonly kind: "tokenFile"; readonly path: string }
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "anonymous" }
  /** Not available yet: requests wait for credentials until their deadline. */
  | { readonly kind: "awaited" };

/** Created once per set of credentials, because parsing a CA bundle for every connection is expensive. */
export function secureContextOf({ ca, credentials }: Pick<Connection, "ca" | "credentials">): SecureContext {
  const own = credentials.kind === "certificate" ? { cert: credentials.certificatePem, key: credentials.keyPem } : {};
  return createSecureContext({ ca, minVersion: "TLSv1.2", ...own });
}
