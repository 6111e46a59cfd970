/** The certificate that the node's server presents, with its key. */
export interface ServingCertificate {
  /** The certificate, followed by its intermediate certificates. */
  readonly certificatePem: string;
  readonly keyPem: string;
}
