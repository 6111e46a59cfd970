/** What the node offers in a handshake, in the words of OpenSSL. */
export interface TlsSettings {
  readonly minVersion: "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
  /** Separated by colons; those of TLS 1.3 are always among them. */
  readonly ciphers: string;
  /** Separated by colons, the preferred first; "auto" leaves it to OpenSSL. */
  readonly curves: string;
}
