/**
 * Private keys as PEM text, which files and TLS accept as it is. All calls are synchronous, and no error message
 * contains a key. Text without a key of a supported type throws a `KeyError`.
 */
import type { KeyAlgorithm } from "../domain/identity/x509-write.ts";

export class KeyError extends Error {
  override readonly name = "KeyError";
}

export interface KeyFacts {
  readonly algorithm: KeyAlgorithm;
  /** DER of a SubjectPublicKeyInfo: equal bytes mean equal keys. */
  readonly publicKeyDer: Uint8Array;
}

export interface Keys {
  /** Creates an ECDSA key on P-256, labelled "EC PRIVATE KEY". */
  make(): string;
  describe(keyPem: string): KeyFacts;
  /** Signs with SHA-256, in the form that certificates contain. */
  sign(keyPem: string, message: Uint8Array): Uint8Array;
}
