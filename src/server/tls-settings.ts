/** TLS settings of the server, in OpenSSL's notation. */
export interface TlsSettings {
  readonly minVersion: "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
  /** Separated by colons; TLS 1.3 suites are always included. */
  readonly ciphers: string;
  /** Separated by colons, in order of preference; "auto" leaves the choice to OpenSSL. */
  readonly curves: string;
}
