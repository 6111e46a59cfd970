/** Contract suite of the Keys port, for the machine's implementation and the simulator's. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { expectTag, members, objectIdOf, readDer } from "../../src/base/der/read-der.ts";
import { TAG } from "../../src/base/der/tags.ts";
import { KeyError, type Keys } from "../../src/ports/keys.ts";

type Verify = (publicKeyDer: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean;

const EC_ON_P256 = ["1.2.840.10045.2.1", "1.2.840.10045.3.1.7"];
const message = (text: string) => new TextEncoder().encode(text);

export function keysContract(name: string, make: () => Keys, verify: Verify): void {
  describe(`${name} keep the Keys contract`, () => {
    test("make creates a new ECDSA P-256 key each time, with the PEM label that Go uses", () => {
      const keys = make();
      const [one, other] = [keys.make(), keys.make()];
      assert.match(one, /^-----BEGIN EC PRIVATE KEY-----\n[^-]+\n-----END EC PRIVATE KEY-----\n$/);
      assert.notEqual(one, other);
      const { algorithm, publicKeyDer } = keys.describe(one);
      const [kind] = members(expectTag(readDer(publicKeyDer), TAG.sequence));
      assert.deepEqual([algorithm, members(kind ?? assert.fail()).map(objectIdOf)], ["ec", EC_ON_P256]);
      assert.notDeepEqual(keys.describe(other).publicKeyDer, publicKeyDer);
      assert.deepEqual(keys.describe(one).publicKeyDer, publicKeyDer);
    });

    test("a signature is valid only for its key and its message", () => {
      const keys = make();
      const [one, other] = [keys.make(), keys.make()];
      const signature = keys.sign(one, message("a"));
      const holds = (key: string, text: string) => verify(keys.describe(key).publicKeyDer, message(text), signature);
      assert.deepEqual([holds(one, "a"), holds(one, "b"), holds(other, "a")], [true, false, false]);
      assert.equal(members(readDer(signature)).length, 2, "two numbers, as certificates carry them");
    });

    test("rejects an invalid key without quoting it", () => {
      const keys = make();
      const secret = "c2VjcmV0";
      for (const text of ["", secret, `-----BEGIN EC PRIVATE KEY-----\n${secret}\n-----END EC PRIVATE KEY-----\n`]) {
        const refused = (error: unknown) => error instanceof KeyError && !error.message.includes(secret);
        assert.throws(() => keys.describe(text), refused);
        assert.throws(() => keys.sign(text, message("a")), refused);
      }
    });
  });
}
