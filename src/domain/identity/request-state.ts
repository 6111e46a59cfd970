/** The state of a certificate signing request, and whether an existing request is the one that we would create. */
import type { CertificateSigningRequest } from "../../api/gen/certificates-v1.ts";
import { base64Bytes } from "../../base/base64.ts";
import { DerError } from "../../base/der/read-der.ts";
import { jsonEqual } from "../../base/json-equal.ts";
import { utf8Text } from "../../base/utf8.ts";
import type { Subject } from "./certificate-pair.ts";
import { certificateFacts, requestFacts } from "./x509-read.ts";

export type RequestState =
  | { readonly kind: "waiting" }
  /** Base64, as in the API. */
  | { readonly kind: "issued"; readonly certificate: string }
  | { readonly kind: "refused"; readonly why: string };

/** `request` is undefined if a complete list does not contain it. */
export function requestState(request: CertificateSigningRequest | undefined, uid: string): RequestState {
  if (request === undefined) return { kind: "refused", why: "the csr was deleted" };
  if (request.metadata?.uid !== uid) return { kind: "refused", why: `csr "${request.metadata?.name}" changed UIDs` };
  const { conditions = [], certificate = "" } = request.status ?? {};
  const reported = (type: string, word: string): RequestState | undefined => {
    const condition = conditions.find((each) => each.type === type);
    if (condition === undefined) return undefined;
    const { reason = "", message = "" } = condition;
    return { kind: "refused", why: `certificate signing request ${word}, reason: ${reason}, message: ${message}` };
  };
  const refusal = reported("Denied", "is denied") ?? reported("Failed", "failed");
  if (refusal !== undefined) return refusal;
  const isApproved = conditions.some(({ type }) => type === "Approved");
  return isApproved && certificate !== "" ? { kind: "issued", certificate } : { kind: "waiting" };
}

/** Returns true, or why the request does not fit. */
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
