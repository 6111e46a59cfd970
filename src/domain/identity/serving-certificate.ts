/** What the node shows of itself to those who ask it, with the key that proves it. */
export interface ServingCertificate {
  /** The certificate, and those between it and its root. */
  readonly certificatePem: string;
  readonly keyPem: string;
}
