/** Service account tokens that a pod's volumes hold: which there are, and when one is asked for anew. */
import type { Pod, Volume } from "../../api/gen/core-v1.ts";

export interface TokenWish {
  /** Empty: the API server's own. */
  readonly audience: string;
  readonly expirationSeconds: number;
}

const DEFAULT_EXPIRATION_SECONDS = 3600;

/** One string for what is the same token. */
export const tokenKey = ({ audience, expirationSeconds }: TokenWish): string => `${expirationSeconds}/${audience}`;

export function tokensOf({ projected }: Volume): readonly TokenWish[] {
  return (projected?.sources ?? []).flatMap(({ serviceAccountToken: token }) =>
    token === undefined
      ? []
      : [
          {
            audience: token.audience ?? "",
            expirationSeconds: token.expirationSeconds ?? DEFAULT_EXPIRATION_SECONDS,
          },
        ],
  );
}

/** What the API server is asked: a token that is worth nothing once the pod is gone. */
export const tokenQuestion = (pod: Pod, { audience, expirationSeconds }: TokenWish) => ({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenRequest",
  metadata: {},
  spec: {
    ...(audience === "" ? {} : { audiences: [audience] }),
    expirationSeconds,
    boundObjectRef: { apiVersion: "v1", kind: "Pod", name: pod.metadata?.name, uid: pod.metadata?.uid },
  },
});

const KEPT_MS_MAX = 24 * 60 * 60 * 1000;
export const TOKEN_JITTER_MS = 10_000;

/** How long after it was given a token is replaced: at four fifths of its life, or after a day, a little earlier by chance. */
export function tokenKeptMs(livesMs: number, jitterMs: number): number {
  const fifth = Math.floor((Math.floor(livesMs / 1000) * 20) / 100) * 1000;
  return Math.max(0, Math.min(livesMs - fifth, KEPT_MS_MAX) - jitterMs);
}
