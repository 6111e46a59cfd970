/**
 * Keys from a seed. Shapes and sizes are those of ECDSA on P-256. Only `fakeVerify` accepts the signatures, which offer
 * no security.
 */
import { createHash } from "node:crypto";
import { bitString, integer, objectId, sequence } from "../src/base/der/write-der.ts";
import { pemBlocks, pemText } from "../src/domain/identity/pem.ts";
import { KeyError, type Keys } from "../src/ports/keys.ts";
import type { Random } from "../src/ports/random.ts";

const LABEL = "EC PRIVATE KEY";
const P256 = sequence(objectId("1.2.840.10045.2.1"), objectId("1.2.840.10045.3.1.7"));

export class FakeKeys implements Keys {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  make(): string {
    return pemText({ label: LABEL, bytes: hash("sha256", this.#random.uuid()) });
  }

  describe(keyPem: string) {
    return { algorithm: "ec", publicKeyDer: publicKeyOf(secretOf(keyPem)) } as const;
  }

  sign(keyPem: string, message: Uint8Array): Uint8Array {
    return signatureOf(publicKeyOf(secretOf(keyPem)), message);
  }
}

/** Whether the signature was made with this key. */
export const fakeVerify = (publicKeyDer: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean =>
  Buffer.from(signature).equals(signatureOf(publicKeyDer, message));

const hash = (algorithm: string, ...parts: readonly (string | Uint8Array)[]): Uint8Array => {
  const digest = createHash(algorithm);
  for (const part of parts) digest.update(part);
  return Uint8Array.from(digest.digest());
};

function secretOf(keyPem: string): Uint8Array {
  const block = pemBlocks(keyPem).find(({ label }) => label === LABEL);
  if (block?.bytes.length !== 32) throw new KeyError("the text holds no private key");
  return block.bytes;
}

/** A point has 64 bytes, after a leading byte 4 that says that both coordinates are present. */
const publicKeyOf = (secret: Uint8Array): Uint8Array =>
  sequence(P256, bitString(Uint8Array.of(4, ...hash("sha512", secret))));

const signatureOf = (publicKeyDer: Uint8Array, message: Uint8Array): Uint8Array =>
  sequence(integer(hash("sha256", publicKeyDer, message)), integer(hash("sha256", message, publicKeyDer)));
