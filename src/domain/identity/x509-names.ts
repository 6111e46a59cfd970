/** Reads and writes the names of X.509 in DER: subjects, issuers, and subject alternative names. */
import { type DerElement, expectTag, members, objectIdOf, textOf } from "../../base/der/read-der.ts";
import { TAG } from "../../base/der/tags.ts";
import { contextPlain, objectId, sequence, setOf, text } from "../../base/der/write-der.ts";
import { type IpAddress, parseIp } from "../../base/ip-address.ts";
import { utf8Bytes } from "../../base/utf8.ts";
import type { Subject } from "./certificate-pair.ts";

const COMMON_NAME = "2.5.4.3";
const ORGANIZATION = "2.5.4.10";

const attribute = (type: string, value: string) => sequence(objectId(type), text(value));

/** Organizations come first and in one set, as in Go, because the order is part of a name. */
export const nameDer = ({ commonName, organizations }: Subject): Uint8Array =>
  sequence(
    ...(organizations.length === 0 ? [] : [setOf(...organizations.map((each) => attribute(ORGANIZATION, each)))]),
    ...(commonName === "" ? [] : [setOf(attribute(COMMON_NAME, commonName))]),
  );

export function nameOf(element: DerElement | undefined): Subject {
  const attributes = members(expectTag(element, TAG.sequence))
    .flatMap((set) => members(expectTag(set, TAG.set)))
    .map((pair) => {
      const [type, value] = members(pair);
      return { type: objectIdOf(type), value: value === undefined ? "" : textOf(value) };
    });
  const valuesOf = (wanted: string) => attributes.filter(({ type }) => type === wanted).map(({ value }) => value);
  return { commonName: valuesOf(COMMON_NAME).at(-1) ?? "", organizations: valuesOf(ORGANIZATION) };
}

/** Kinds of alternative names, by their numbers in the definition. */
const DNS_NAME = 2;
const IP_ADDRESS = 7;

export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export const alternativeNamesDer = ({ dnsNames, ipAddresses }: AlternativeNames): Uint8Array =>
  sequence(
    ...dnsNames.map((name) => contextPlain(DNS_NAME, utf8Bytes(name))),
    ...ipAddresses.flatMap((address) => {
      const ip = parseIp(address);
      return ip === undefined ? [] : [contextPlain(IP_ADDRESS, ipBytes(ip))];
    }),
  );

/** Ignores kinds that no node uses, such as email addresses and URIs. */
export function alternativeNamesOf(element: DerElement): AlternativeNames {
  const names = members(expectTag(element, TAG.sequence));
  const contents = (kind: number) => names.filter(({ tag }) => tag === (0x80 | kind)).map(({ content }) => content);
  return {
    dnsNames: names.filter(({ tag }) => tag === (0x80 | DNS_NAME)).map(textOf),
    ipAddresses: contents(IP_ADDRESS).flatMap((bytes) => parseIp(ipText(bytes))?.text ?? []),
  };
}

const ipBytes = ({ family, groups }: IpAddress): Uint8Array =>
  Uint8Array.from(family === "IPv4" ? groups : groups.flatMap((group) => [group >> 8, group & 255]));

function ipText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, index) => (bytes[2 * index] ?? 0) * 256 + (bytes[2 * index + 1] ?? 0));
  return bytes.length === 16 ? groups.map((group) => group.toString(16)).join(":") : "";
}
