/** What is known of the certificate of one purpose, for who shows it and for who measures it. */
import type { HistogramSample } from "../../base/metrics/family.ts";
import type { CertificatePair, CertificateTemplate } from "./certificate-pair.ts";

export interface CertificateState {
  /** It may have expired. */
  readonly pair: CertificatePair | undefined;
  /** How often a new one could not be had. */
  readonly renewErrors: number;
  /** How long those that were replaced had been good for, in seconds. */
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

/** After another pair took the place of the one there was. */
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

/** The pair, as long as its time has not passed. */
export const validPair = ({ pair }: Pick<CertificateState, "pair">, wallMs: number): CertificatePair | undefined =>
  pair === undefined || wallMs > pair.facts.notAfterWallMs ? undefined : pair;

/** Whole seconds until its time has passed; infinite where there is none that is valid. */
export function ttlSeconds(state: CertificateState, wallMs: number): number {
  const pair = validPair(state, wallMs);
  return pair === undefined ? Number.POSITIVE_INFINITY : Math.trunc((pair.facts.notAfterWallMs - wallMs) / 1000);
}

/** At a moment between 70 and 90 % of its life, so that nodes of one hour do not come back in one hour. */
export function rotateAtWallMs({ facts }: CertificatePair, fraction: number): number {
  const lifeMs = facts.notAfterWallMs - facts.notBeforeWallMs;
  return facts.notBeforeWallMs + lifeMs * (0.7 + 0.2 * fraction);
}

/** A calendar may jump while a timer sleeps: how often to look at it, a thousandth of the life but neither all the time nor never. */
export function lookEveryMs({ facts }: CertificatePair): number {
  const lifeMs = facts.notAfterWallMs - facts.notBeforeWallMs;
  return Math.min(Math.max(lifeMs / 1000, 10_000), 3_600_000);
}

/** Whether it names all that is wanted; it may name more. */
export function satisfies({ facts }: CertificatePair, wanted: CertificateTemplate): boolean {
  const hasAll = (has: readonly string[], wants: readonly string[]) => wants.every((each) => has.includes(each));
  return (
    facts.subject.commonName === wanted.subject.commonName &&
    hasAll(facts.subject.organizations, wanted.subject.organizations) &&
    hasAll(facts.dnsNames, wanted.dnsNames) &&
    hasAll(facts.ipAddresses, wanted.ipAddresses)
  );
}
