/**
 * Private keys, as PEM texts that files and TLS take as they are. Every call answers at once. None of them ever puts a key into a message;
 * a text that holds no key of a kind we know is refused with a `KeyError`.
 */
import type { KeyAlgorithm } from "../domain/identity/x509-write.ts";

export class KeyError extends Error {
  override readonly name = "KeyError";
}

export interface KeyFacts {
  readonly algorithm: KeyAlgorithm;
  /** DER of a SubjectPublicKeyInfo: equal bytes, equal keys. */
  readonly publicKeyDer: Uint8Array;
}

export interface Keys {
  /** A new one for ECDSA on P-256, labelled "EC PRIVATE KEY". */
  make(): string;
  describe(keyPem: string): KeyFacts;
  /** With SHA-256, in the form that certificates carry. */
  sign(keyPem: string, message: Uint8Array): Uint8Array;
}
