/** The state of the certificate for one purpose, for the code that presents it and for its metrics. */
import type { HistogramSample } from "../../base/metrics/family.ts";
import type { CertificatePair, CertificateTemplate } from "./certificate-pair.ts";

export interface CertificateState {
  /** The pair may have expired. */
  readonly pair: CertificatePair | undefined;
  /** The number of failed renewals. */
  readonly renewErrors: number;
  /** The ages of replaced certificates at their replacement, in seconds. */
  readonly rotationAges: HistogramSample;
}

/** From a minute to four years. */
const AGE_BOUNDS_SECONDS = [
  60, 3600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000,
];

export const NO_CERTIFICATE: CertificateState = {
  pair: undefined,
  renewErrors: 0,
  rotationAges: { labels: [], buckets: AGE_BOUNDS_SECONDS.map((upTo) => [upTo, 0]), count: 0, sum: 0 },
};

/** The state after another pair replaced the current one. */
export function renewed(state: CertificateState, pair: CertificatePair, wallMs: number): CertificateState {
  if (state.pair === undefined) return { ...state, pair };
  const age = (wallMs - state.pair.facts.notBeforeWallMs) / 1000;
  const { labels, buckets, count, sum } = state.rotationAges;
  const counted = buckets.map(([upTo, below]) => [upTo, age <= upTo ? below + 1 : below] as const);
  return { ...state, pair, rotationAges: { labels, buckets: counted, count: count + 1, sum: sum + age } };
}

export const failedToRenew = (state: CertificateState): CertificateState => ({
  ...state,
  renewErrors: state.renewErrors + 1,
});

/** The pair, unless it has expired. */
export const validPair = ({ pair }: Pick<CertificateState, "pair">, wallMs: number): CertificatePair | undefined =>
  pair === undefined || wallMs > pair.facts.notAfterWallMs ? undefined : pair;

/** Whole seconds until the pair expires; infinite if there is no valid pair. */
export function ttlSeconds(state: CertificateState, wallMs: number): number {
  const pair = validPair(state, wallMs);
  return pair === undefined ? Number.POSITIVE_INFINITY : Math.trunc((pair.facts.notAfterWallMs - wallMs) / 1000);
}

/**
 * At a time between 70 and 90 % of the lifetime, so that nodes that were created within one hour do not rotate within
 * one hour.
 */
export function rotateAtWallMs({ facts }: CertificatePair, fraction: number): number {
  const lifeMs = facts.notAfterWallMs - facts.notBeforeWallMs;
  return facts.notBeforeWallMs + lifeMs * (0.7 + 0.2 * fraction);
}

/**
 * How often to check the wall clock, which may jump while a timer sleeps: a thousandth of the lifetime, between 10
 * seconds and 1 hour.
 */
export function lookEveryMs({ facts }: CertificatePair): number {
  const lifeMs = facts.notAfterWallMs - facts.notBeforeWallMs;
  return Math.min(Math.max(lifeMs / 1000, 10_000), 3_600_000);
}

/** Whether the pair names everything in `wanted`; it may name more. */
export function satisfies({ facts }: CertificatePair, wanted: CertificateTemplate): boolean {
  const hasAll = (has: readonly string[], wants: readonly string[]) => wants.every((each) => has.includes(each));
  return (
    facts.subject.commonName === wanted.subject.commonName &&
    hasAll(facts.subject.organizations, wanted.subject.organizations) &&
    hasAll(facts.dnsNames, wanted.dnsNames) &&
    hasAll(facts.ipAddresses, wanted.ipAddresses)
  );
}
