/** The service account tokens in a pod's volumes: which ones there are, and when each is renewed. */
import type { Pod, Volume } from "../../api/gen/core-v1.ts";

export interface TokenSpec {
  /** Empty: the API server's own audience. */
  readonly audience: string;
  readonly expirationSeconds: number;
}

const DEFAULT_EXPIRATION_SECONDS = 3600;

/** One string per token: equal requests have equal keys. */
export const tokenKey = ({ audience, expirationSeconds }: TokenSpec): string => `${expirationSeconds}/${audience}`;

export function tokensOf({ projected }: Volume): readonly TokenSpec[] {
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

/** The request to the API server, for a token that becomes invalid when the pod is deleted. */
export const tokenQuestion = (pod: Pod, { audience, expirationSeconds }: TokenSpec) => ({
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

/**
 * How long after its creation a token is replaced: after four fifths of its lifetime, or after a day, minus a random
 * jitter.
 */
export function tokenKeptMs(livesMs: number, jitterMs: number): number {
  const fifth = Math.floor((Math.floor(livesMs / 1000) * 20) / 100) * 1000;
  return Math.max(0, Math.min(livesMs - fifth, KEPT_MS_MAX) - jitterMs);
}
