/** Keys of this process's own making, by OpenSSL. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { KeyError, type Keys } from "../../ports/keys.ts";

export const hostKeys: Keys = {
  make: () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "pem" }),
  describe: (keyPem) => {
    const key = readKey(keyPem);
    const publicKeyDer = createPublicKey(key).export({ type: "spki", format: "der" });
    return { algorithm: key.asymmetricKeyType === "rsa" ? "rsa" : "ec", publicKeyDer: Uint8Array.from(publicKeyDer) };
  },
  sign: (keyPem, message) => Uint8Array.from(sign("sha256", message, readKey(keyPem))),
};

function readKey(keyPem: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(keyPem);
  } catch {
    // What OpenSSL says of a text it cannot read helps nobody, and may quote it.
    throw new KeyError("the text holds no private key");
  }
  if (key.asymmetricKeyType === "ec" || key.asymmetricKeyType === "rsa") return key;
  throw new KeyError(`a private key of ${key.asymmetricKeyType ?? "no"} type`);
}
