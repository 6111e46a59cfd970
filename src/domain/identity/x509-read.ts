/** Reads certificates and certificate requests. Throws a `DerError` for invalid input. Signatures are not verified. */
import { type DerElement, expectTag, members, objectIdOf, readDer, timeOf } from "../../base/der/read-der.ts";
import { TAG } from "../../base/der/tags.ts";
import type { CertificateFacts, CertificateTemplate } from "./certificate-pair.ts";
import { CERTIFICATE_LABEL, pemBlocks } from "./pem.ts";
import { alternativeNamesOf, nameOf } from "./x509-names.ts";

const ALTERNATIVE_NAMES = "2.5.29.17";
const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";

/** Of every certificate in a PEM text, in order. */
export const certificateFacts = (pem: string): readonly CertificateFacts[] =>
  pemBlocks(pem)
    .filter(({ label }) => label === CERTIFICATE_LABEL)
    .map(({ bytes }) => factsOf(bytes));

function factsOf(der: Uint8Array): CertificateFacts {
  const [content] = members(expectTag(readDer(der), TAG.sequence));
  const parts = members(expectTag(content, TAG.sequence));
  // The version is optional; where present, it is in a context element.
  const [, , issuer, validity, subject, publicKey, ...rest] = parts[0]?.tag === 0xa0 ? parts.slice(1) : parts;
  const [notBefore, notAfter] = members(expectTag(validity, TAG.sequence)).map(timeOf);
  return {
    subject: nameOf(subject),
    issuer: nameOf(issuer),
    notBeforeWallMs: notBefore ?? 0,
    notAfterWallMs: notAfter ?? 0,
    publicKeyDer: expectTag(publicKey, TAG.sequence).whole,
    ...namesAmong(rest.filter(({ tag }) => tag === 0xa3).flatMap(members)),
  };
}

export interface RequestFacts extends CertificateTemplate {
  readonly publicKeyDer: Uint8Array;
}

/** Of the first request in a PEM text; undefined: there is none. */
export function requestFacts(pem: string): RequestFacts | undefined {
  const block = pemBlocks(pem).find(({ label }) => label === REQUEST_LABEL);
  if (block === undefined) return undefined;
  const [content] = members(expectTag(readDer(block.bytes), TAG.sequence));
  const [, subject, publicKey, attributes] = members(expectTag(content, TAG.sequence));
  const asked = (attributes === undefined ? [] : members(attributes)).flatMap((attribute) => {
    const [id, values] = members(attribute);
    return objectIdOf(id) === EXTENSION_REQUEST && values !== undefined ? members(values) : [];
  });
  return {
    subject: nameOf(subject),
    publicKeyDer: expectTag(publicKey, TAG.sequence).whole,
    ...namesAmong(asked),
  };
}

export const REQUEST_LABEL = "CERTIFICATE REQUEST";

/** Finds the alternative names in sequences of extensions. */
function namesAmong(sequences: readonly DerElement[]): Pick<CertificateTemplate, "dnsNames" | "ipAddresses"> {
  for (const one of sequences.flatMap((each) => members(expectTag(each, TAG.sequence)))) {
    const parts = members(one);
    if (objectIdOf(parts[0]) !== ALTERNATIVE_NAMES) continue;
    // The optional critical flag comes before the value.
    return alternativeNamesOf(readDer(expectTag(parts.at(-1), TAG.octetString).content));
  }
  return { dnsNames: [], ipAddresses: [] };
}
