/** What certificates and requests for them say. Throws a `DerError` at what is none; whether a signature holds is not looked at. */
import { type DerElement, expectTag, members, objectIdOf, readDer, timeOf } from "../../base/der/read-der.ts";
import { TAG } from "../../base/der/tags.ts";
import type { CertificateFacts, CertificateTemplate } from "./certificate-pair.ts";
import { CERTIFICATE_LABEL, pemBlocks } from "./pem.ts";
import { alternativeNamesOf, nameOf } from "./x509-names.ts";

const ALTERNATIVE_NAMES = "2.5.29.17";
const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";

/** Of every certificate of a PEM text, in their order. */
export const certificateFacts = (pem: string): readonly CertificateFacts[] =>
  pemBlocks(pem)
    .filter(({ label }) => label === CERTIFICATE_LABEL)
    .map(({ bytes }) => factsOf(bytes));

function factsOf(der: Uint8Array): CertificateFacts {
  const [content] = members(expectTag(readDer(der), TAG.sequence));
  const parts = members(expectTag(content, TAG.sequence));
  // The version may be left out, and stands in brackets where it is not.
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

/** Of the first request of a PEM text; undefined where there is none. */
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

/** From sequences of extensions. */
function namesAmong(sequences: readonly DerElement[]): Pick<CertificateTemplate, "dnsNames" | "ipAddresses"> {
  for (const one of sequences.flatMap((each) => members(expectTag(each, TAG.sequence)))) {
    const parts = members(one);
    if (objectIdOf(parts[0]) !== ALTERNATIVE_NAMES) continue;
    // Whether it is critical may stand between.
    return alternativeNamesOf(readDer(expectTag(parts.at(-1), TAG.octetString).content));
  }
  return { dnsNames: [], ipAddresses: [] };
}
