/**
 * Writes certificate requests (PKCS #10) and X.509 certificates in two steps: the content to sign, and the content with
 * its signature. The caller signs. Signatures are ECDSA with SHA-256, or RSA with SHA-256 for an RSA key.
 */
import {
  bitString,
  contextOf,
  contextPlain,
  element,
  integer,
  objectId,
  octetString,
  sequence,
  setOf,
  time,
  trueValue,
} from "../../base/der/write-der.ts";
import type { CertificateTemplate, Subject } from "./certificate-pair.ts";
import { alternativeNamesDer, nameDer } from "./x509-names.ts";

export type KeyAlgorithm = "ec" | "rsa";

const ALTERNATIVE_NAMES = "2.5.29.17";
const KEY_USAGE = "2.5.29.15";
const BASIC_CONSTRAINTS = "2.5.29.19";
const EXTENDED_KEY_USAGE = "2.5.29.37";
const SUBJECT_KEY_ID = "2.5.29.14";
const AUTHORITY_KEY_ID = "2.5.29.35";
const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";
const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";

const SIGNATURE_ALGORITHM = {
  ec: sequence(objectId("1.2.840.10045.4.3.2")),
  rsa: sequence(objectId("1.2.840.113549.1.1.11"), element(0x05)),
} as const;

/** A request or a certificate: the content, the algorithm, and the signature. */
export const signed = (toSign: Uint8Array, algorithm: KeyAlgorithm, signature: Uint8Array): Uint8Array =>
  sequence(toSign, SIGNATURE_ALGORITHM[algorithm], bitString(signature));

export function requestToSign(template: CertificateTemplate, publicKeyDer: Uint8Array): Uint8Array {
  const hasNames = template.dnsNames.length + template.ipAddresses.length > 0;
  const asked = hasNames ? [sequence(objectId(EXTENSION_REQUEST), setOf(sequence(alternativeNames(template))))] : [];
  return sequence(integer(Uint8Array.of(0)), nameDer(template.subject), publicKeyDer, contextOf(0, ...asked));
}

export interface CertificateContent extends CertificateTemplate {
  readonly issuer: Subject;
  /** Positive, chosen by the issuer. */
  readonly serial: Uint8Array;
  readonly notBeforeWallMs: number;
  readonly notAfterWallMs: number;
  readonly publicKeyDer: Uint8Array;
  /** Any bytes that identify the signing key among others. */
  readonly authorityKeyId: Uint8Array;
  readonly use: "authority" | "server";
}

export function certificateToSign(content: CertificateContent, algorithm: KeyAlgorithm): Uint8Array {
  const version3 = contextOf(0, integer(Uint8Array.of(2)));
  return sequence(
    version3,
    integer(content.serial),
    SIGNATURE_ALGORITHM[algorithm],
    nameDer(content.issuer),
    sequence(time(content.notBeforeWallMs), time(content.notAfterWallMs)),
    nameDer(content.subject),
    content.publicKeyDer,
    contextOf(3, sequence(...extensionsOf(content))),
  );
}

/** Bits of the key usage, from the left: the first is digitalSignature, the sixth is keyCertSign. */
const DIGITAL_SIGNATURE = 0x80;
const CERTIFICATE_SIGN = 0x04;

function extensionsOf(content: CertificateContent): readonly Uint8Array[] {
  if (content.use === "authority") {
    return [
      critical(KEY_USAGE, bitString(Uint8Array.of(DIGITAL_SIGNATURE | CERTIFICATE_SIGN), 2)),
      critical(BASIC_CONSTRAINTS, sequence(trueValue)),
      extension(SUBJECT_KEY_ID, octetString(content.authorityKeyId)),
    ];
  }
  return [
    critical(KEY_USAGE, bitString(Uint8Array.of(DIGITAL_SIGNATURE), 7)),
    extension(EXTENDED_KEY_USAGE, sequence(objectId(SERVER_AUTH))),
    critical(BASIC_CONSTRAINTS, sequence()),
    extension(AUTHORITY_KEY_ID, sequence(contextPlain(0, content.authorityKeyId))),
    alternativeNames(content),
  ];
}

const extension = (id: string, value: Uint8Array) => sequence(objectId(id), octetString(value));
const critical = (id: string, value: Uint8Array) => sequence(objectId(id), trueValue, octetString(value));
const alternativeNames = (names: CertificateTemplate) => extension(ALTERNATIVE_NAMES, alternativeNamesDer(names));
