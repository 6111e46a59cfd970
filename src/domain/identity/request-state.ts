/** What has become of a request for a certificate, and whether one that is there already is the one we would make. */
import type { CertificateSigningRequest } from "../../api/gen/certificates-v1.ts";
import { base64Bytes } from "../../base/base64.ts";
import { DerError } from "../../base/der/read-der.ts";
import { jsonEqual } from "../../base/json-equal.ts";
import { utf8Text } from "../../base/utf8.ts";
import type { Subject } from "./certificate-pair.ts";
import { certificateFacts, requestFacts } from "./x509-read.ts";

export type RequestState =
  | { readonly kind: "waiting" }
  /** As the API has it, in base64. */
  | { readonly kind: "issued"; readonly certificate: string }
  | { readonly kind: "refused"; readonly why: string };

/** `request` is undefined where a list is complete and has none of that name. */
export function requestState(request: CertificateSigningRequest | undefined, uid: string): RequestState {
  if (request === undefined) return { kind: "refused", why: "the csr was deleted" };
  if (request.metadata?.uid !== uid) return { kind: "refused", why: `csr "${request.metadata?.name}" changed UIDs` };
  const { conditions = [], certificate = "" } = request.status ?? {};
  const told = (type: string, word: string): RequestState | undefined => {
    const condition = conditions.find((each) => each.type === type);
    if (condition === undefined) return undefined;
    const { reason = "", message = "" } = condition;
    return { kind: "refused", why: `certificate signing request ${word}, reason: ${reason}, message: ${message}` };
  };
  const refusal = told("Denied", "is denied") ?? told("Failed", "failed");
  if (refusal !== undefined) return refusal;
  const isApproved = conditions.some(({ type }) => type === "Approved");
  return isApproved && certificate !== "" ? { kind: "issued", certificate } : { kind: "waiting" };
}

/** True, or why not. */
export function stillFits(
  found: CertificateSigningRequest,
  wish: { readonly template: { readonly subject: Subject }; readonly signerName: string },
  isOurKey: (publicKeyDer: Uint8Array) => boolean,
  wallMs: number,
): true | string {
  try {
    const facts = requestFacts(decoded(found.spec.request));
    if (facts === undefined) return "unable to parse new csr";
    if (!jsonEqual(facts.subject, wish.template.subject)) return "csr subjects differ";
    if (found.spec.signerName !== wish.signerName) return `csr signerNames differ: new "${found.spec.signerName}"`;
    if (!isOurKey(facts.publicKeyDer)) return "it is of another key";
    const issued = certificateFacts(decoded(found.status?.certificate ?? ""));
    return issued.every(({ notAfterWallMs }) => wallMs <= notAfterWallMs) || "its certificate has expired";
  } catch (error) {
    if (error instanceof DerError) return error.message;
    throw error;
  }
}

const decoded = (base64: string): string => utf8Text(base64Bytes(base64) ?? new Uint8Array()) ?? "";
