/** A certificate with its key, as requested, stored and presented. */

/** The subject that a certificate names. */
export interface Subject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** The contents to request for a certificate. */
export interface CertificateTemplate {
  readonly subject: Subject;
  readonly dnsNames: readonly string[];
  /** In their canonical form. */
  readonly ipAddresses: readonly string[];
}

/** The contents of a certificate. */
export interface CertificateFacts extends CertificateTemplate {
  readonly issuer: Subject;
  readonly notBeforeWallMs: number;
  readonly notAfterWallMs: number;
  /** DER of a SubjectPublicKeyInfo. */
  readonly publicKeyDer: Uint8Array;
}

export interface CertificatePair {
  /** The certificate, followed by its intermediate certificates. */
  readonly certificatePem: string;
  readonly keyPem: string;
  /** Of the first certificate. */
  readonly facts: CertificateFacts;
}

/** The certificate that the node's server presents, with its key. */
export interface ServingCertificate {
  /** The certificate, followed by its intermediate certificates. */
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** The files of the certificate and of the key; one file may contain both. */
export interface PairPaths {
  readonly certificate: string;
  readonly key: string;
}

export const nodeSubject = (nodeName: string): Subject => ({
  commonName: `system:node:${nodeName}`,
  organizations: ["system:nodes"],
});
