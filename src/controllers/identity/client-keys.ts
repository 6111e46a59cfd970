/** How a client certificate is asked for, and with which keys: a new one for each renewal, the pending one for the first. */
import { nodeSubject } from "../../domain/identity/certificate-pair.ts";
import type { KeyAlgorithm } from "../../domain/identity/x509-write.ts";
import type { Keys } from "../../ports/keys.ts";
import { type PendingKey, requestName } from "./pending-key.ts";
import type { KeySource } from "./rotation.ts";

export const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet";

/** In this order: the name of a first request is made from it. */
export const clientUsages = (algorithm: KeyAlgorithm): readonly string[] => [
  "digital signature",
  "client auth",
  ...(algorithm === "rsa" ? ["key encipherment"] : []),
];

export const freshKey = (keys: Keys): KeySource => ({
  next: async () => ({ keyPem: keys.make() }),
  done: async () => {},
});

export interface FirstRequestParts {
  readonly keys: Keys;
  readonly nodeName: string;
  readonly pendingKey: PendingKey;
}

/** Kept on disk, and the request under the name that follows from it, until there is a certificate or never will be. */
export const firstRequestKey = ({ keys, nodeName, pendingKey }: FirstRequestParts): KeySource => ({
  next: async () => {
    const keyPem = await pendingKey.loadOrMake();
    const { algorithm, publicKeyDer } = keys.describe(keyPem);
    return { keyPem, name: requestName(publicKeyDer, nodeSubject(nodeName), clientUsages(algorithm)) };
  },
  done: () => pendingKey.drop(),
});
