/**
 * Identifies the holder of a client certificate after verifying a chain to one of our CAs: signatures, validity dates,
 * CA flags, and client usage. Like the Go kubelet it needs no subject alternative name, takes a missing usage list as
 * any usage, and rejects SHA-1 signatures.
 */
import type { X509Certificate } from "node:crypto";
import type { Caller } from "../domain/server/node-request.ts";
import { SIGNATURES_CHECKED_MAX } from "./limits.ts";

export type Verified =
  | { readonly kind: "caller"; readonly caller: Caller }
  /** The certificate has no common name: treated as no certificate. */
  | { readonly kind: "nameless" }
  | { readonly kind: "refused"; readonly why: string };

const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const ANY_USE = "2.5.29.37.0";
const UID = "1.3.6.1.4.1.57683.2";
/** RSA with MD2, MD5 and SHA-1 (two OIDs), DSA with SHA-1, and ECDSA with SHA-1. */
const WEAK_SIGNATURES: ReadonlySet<string> = new Set([
  "1.2.840.113549.1.1.2",
  "1.2.840.113549.1.1.4",
  "1.2.840.113549.1.1.5",
  "1.3.14.3.2.29",
  "1.2.840.10040.4.3",
  "1.2.840.10045.4.1",
]);

/** `presented`: the client's own certificate first, then its intermediates. */
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

/**
 * Searches from the client's certificate through its issuers to a CA. Each certificate is visited once, however many
 * paths lead to it.
 */
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
    return false; // This type of key cannot have signed the certificate.
  }
}

function faultOf(certificate: X509Certificate, nowMs: number): string | undefined {
  if (nowMs < certificate.validFromDate.getTime()) return "not valid yet";
  if (nowMs > certificate.validToDate.getTime()) return "expired";
  // Despite its name, this property holds the extended key usages.
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
