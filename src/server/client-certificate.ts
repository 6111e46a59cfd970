/**
 * Who a client certificate says its holder is, once a chain from it to one of our authorities is verified here: signatures, dates, who may
 * sign, and that it is meant for clients. It follows the Go kubelet's rules: a name needs no alternative names, no list of uses means any
 * use, and SHA-1 proves nothing.
 */
import type { X509Certificate } from "node:crypto";
import type { Caller } from "../domain/server/caller.ts";
import { SIGNATURES_CHECKED_MAX } from "./limits.ts";

export type Verified =
  | { readonly kind: "caller"; readonly caller: Caller }
  /** It has no name: as good as no certificate. */
  | { readonly kind: "nameless" }
  | { readonly kind: "refused"; readonly why: string };

const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const ANY_USE = "2.5.29.37.0";
const UID = "1.3.6.1.4.1.57683.2";
/** MD2, MD5 and SHA-1, each with RSA, DSA and ECDSA. */
const WEAK_SIGNATURES: ReadonlySet<string> = new Set([
  "1.2.840.113549.1.1.2",
  "1.2.840.113549.1.1.4",
  "1.2.840.113549.1.1.5",
  "1.3.14.3.2.29",
  "1.2.840.10040.4.3",
  "1.2.840.10045.4.1",
]);

/** `presented`: the holder's own first, then those it brought along to lead to an authority. */
export function verifyClientCertificate(
  presented: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  nowMs: number,
): Verified {
  const [own, ...between] = presented;
  if (own === undefined) return { kind: "nameless" };
  const fault = faultOf(own, nowMs);
  if (fault !== undefined) return { kind: "refused", why: `${subjectText(own)}: ${fault}` };
  if (!leadsToAuthority(own, { between, authorities, nowMs })) {
    return { kind: "refused", why: `${subjectText(own)}: signed by no authority that is known` };
  }
  return callerOf(own);
}

interface Search {
  readonly between: readonly X509Certificate[];
  readonly authorities: readonly X509Certificate[];
  readonly nowMs: number;
}

/** From the holder's own to whoever signed it, and on from each of these: once from each, however many ways lead there. */
function leadsToAuthority(own: X509Certificate, { between, authorities, nowMs }: Search): boolean {
  const maySign = (signer: X509Certificate) => faultOf(signer, nowMs) === undefined;
  const checks = { left: SIGNATURES_CHECKED_MAX };
  const known = authorities.filter(maySign);
  let unreached = between.filter(maySign);
  const reached = [own];
  for (const signed of reached) {
    if (authorities.some(({ raw }) => raw.equals(signed.raw))) return true;
    if (known.some((signer) => hasSigned(signer, signed, checks))) return true;
    const signers = new Set(unreached.filter((signer) => hasSigned(signer, signed, checks)));
    unreached = unreached.filter((signer) => !signers.has(signer));
    reached.push(...signers);
  }
  return false;
}

function hasSigned(signer: X509Certificate, certificate: X509Certificate, checks: { left: number }): boolean {
  if (!signer.ca || !certificate.checkIssued(signer)) return false;
  if (WEAK_SIGNATURES.has(certificate.signatureAlgorithmOid ?? "")) return false;
  if (checks.left === 0) return false;
  checks.left -= 1;
  try {
    return certificate.verify(signer.publicKey);
  } catch {
    return false; // A key of a kind that cannot have signed this.
  }
}

function faultOf(certificate: X509Certificate, nowMs: number): string | undefined {
  if (nowMs < certificate.validFromDate.getTime()) return "not valid yet";
  if (nowMs > certificate.validToDate.getTime()) return "expired";
  // Named for what it once was: these are the extended uses.
  const uses = certificate.keyUsage as readonly string[] | undefined;
  if (uses !== undefined && !uses.includes(CLIENT_AUTH) && !uses.includes(ANY_USE)) return "not meant for clients";
  return undefined;
}

function callerOf(certificate: X509Certificate): Verified {
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<Record<string, string | string[]>>;
  const [uids, names] = [values(subject[UID]), values(subject["CN"])];
  const name = names.at(-1) ?? "";
  if (name === "") return { kind: "nameless" };
  if (uids.length > 1) return { kind: "refused", why: `${subjectText(certificate)}: more than one UID` };
  const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
  return {
    kind: "caller",
    caller: {
      name,
      uid: uids[0] ?? "",
      groups: values(subject["O"]),
      extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${fingerprint}`] },
    },
  };
}

const values = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === "string" ? [value] : value;

const subjectText = ({ subject }: X509Certificate) => (subject ?? "").replaceAll("\n", ",");
