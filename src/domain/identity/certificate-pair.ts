/** A certificate with its key, as it is asked for, kept and shown. */

/** Whom a certificate names. */
export interface Subject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** What a certificate is to say. */
export interface CertificateTemplate {
  readonly subject: Subject;
  readonly dnsNames: readonly string[];
  /** In their canonical form. */
  readonly ipAddresses: readonly string[];
}

/** What a certificate says. */
export interface CertificateFacts extends CertificateTemplate {
  readonly issuer: Subject;
  readonly notBeforeWallMs: number;
  readonly notAfterWallMs: number;
  /** DER of a SubjectPublicKeyInfo. */
  readonly publicKeyDer: Uint8Array;
}

export interface CertificatePair {
  /** The certificate, then those between it and its root. */
  readonly certificatePem: string;
  readonly keyPem: string;
  /** Of the first certificate. */
  readonly facts: CertificateFacts;
}

/** Where both halves are; a file may hold them both. */
export interface PairPaths {
  readonly certificate: string;
  readonly key: string;
}

export const nodeSubject = (nodeName: string): Subject => ({
  commonName: `system:node:${nodeName}`,
  organizations: ["system:nodes"],
});
