import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { test } from "node:test";
import { keysContract } from "../../../test/contract/keys-contract.ts";
import { KeyError } from "../../ports/keys.ts";
import { hostKeys } from "./keys.ts";

const holds = (publicKeyDer: Uint8Array, message: Uint8Array, signature: Uint8Array) =>
  verify(
    "sha256",
    message,
    createPublicKey({ key: Buffer.from(publicKeyDer), type: "spki", format: "der" }),
    signature,
  );

keysContract("the machine's keys", () => hostKeys, holds);

test("RSA keys in PKCS#1 and PKCS#8 are described and sign; an Ed25519 key is rejected", () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  for (const type of ["pkcs1", "pkcs8"] as const) {
    const pem = privateKey.export({ type, format: "pem" });
    const { algorithm, publicKeyDer } = hostKeys.describe(pem);
    const message = Buffer.from("m");
    assert.deepEqual([algorithm, holds(publicKeyDer, message, hostKeys.sign(pem, message))], ["rsa", true]);
  }
  const other = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
  assert.throws(() => hostKeys.describe(other), KeyError);
});
