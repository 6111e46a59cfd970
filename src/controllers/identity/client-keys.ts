/**
 * Usages and keys of client certificate requests: a new key for each renewal, the pending key for the first request.
 */
import { nodeSubject } from "../../domain/identity/certificate-pair.ts";
import type { KeyAlgorithm } from "../../domain/identity/x509-write.ts";
import type { Keys } from "../../ports/keys.ts";
import { type PendingKey, requestName } from "./pending-key.ts";
import type { KeySource } from "./rotation.ts";

export const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet";

/** The order matters: the name of a first request is computed from it. */
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

/**
 * The first request's key stays on disk, and the request's name follows from it, until the certificate is issued or
 * refused.
 */
export const firstRequestKey = ({ keys, nodeName, pendingKey }: FirstRequestParts): KeySource => ({
  next: async () => {
    const keyPem = await pendingKey.loadOrMake();
    const { algorithm, publicKeyDer } = keys.describe(keyPem);
    return { keyPem, name: requestName(publicKeyDer, nodeSubject(nodeName), clientUsages(algorithm)) };
  },
  done: () => pendingKey.drop(),
});
