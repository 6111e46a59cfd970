/** Where the API server is, whom we trust there, and who we are. */
import { createSecureContext, type SecureContext } from "node:tls";

export interface Connection {
  /** "https://host:port", and a path where the server lies behind one. The host must be in the server's certificate. */
  readonly url: string;
  /** What the server's certificate says, where that is not the host of the URL. */
  readonly serverName?: string;
  /** PEM bundle: only what these have signed is believed. */
  readonly ca: string;
  readonly credentials: Credentials;
}

export type Credentials =
  | { readonly kind: "certificate"; readonly certificatePem: string; readonly keyPem: string }
  /** Read again when it changes: tokens of this kind live for an hour. */
  | { readonly kind: "tokenFile"; readonly path: string }
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "anonymous" }
  /** Ours are yet to come: what is asked waits for them, for as long as it may take at all. */
  | { readonly kind: "awaited" };

/** Made once per set of credentials, since parsing a CA bundle for every connection is dear. */
export function secureContextOf({ ca, credentials }: Pick<Connection, "ca" | "credentials">): SecureContext {
  const own = credentials.kind === "certificate" ? { cert: credentials.certificatePem, key: credentials.keyPem } : {};
  return createSecureContext({ ca, minVersion: "TLSv1.2", ...own });
}
