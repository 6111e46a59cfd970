// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.

import type { ObjectMeta } from "./meta-v1.ts";

export interface CertificateSigningRequest {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec: CertificateSigningRequestSpec;
  readonly status?: CertificateSigningRequestStatus;
}

export interface CertificateSigningRequestCondition {
  readonly lastTransitionTime?: string;
  readonly lastUpdateTime?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly status: string;
  readonly type: string;
}

export interface CertificateSigningRequestSpec {
  readonly expirationSeconds?: number;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly groups?: readonly string[];
  readonly request: string;
  readonly signerName: string;
  readonly uid?: string;
  readonly usages?: readonly string[];
  readonly username?: string;
}

export interface CertificateSigningRequestStatus {
  readonly certificate?: string;
  readonly conditions?: readonly CertificateSigningRequestCondition[];
}
