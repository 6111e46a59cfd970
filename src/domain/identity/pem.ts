/** Reads and writes PEM. Text between blocks is ignored. */
import { base64Bytes, encodeBase64 } from "../../base/base64.ts";

export interface PemBlock {
  /** "CERTIFICATE", "EC PRIVATE KEY", ... */
  readonly label: string;
  readonly bytes: Uint8Array;
}

const BLOCK = /^-----BEGIN (?<label>[A-Z0-9 ]+)-----[ \t\r]*$(?<body>[^-]*)^-----END \k<label>-----[ \t\r]*$/gm;

/** In order. Blocks that are not valid base64 are left out. */
export function pemBlocks(text: string): readonly PemBlock[] {
  return [...text.matchAll(BLOCK)].flatMap(({ groups: { label = "", body = "" } = {} }) => {
    const bytes = base64Bytes(body.replaceAll(/[ \t]/g, ""));
    return bytes === undefined || bytes.length === 0 ? [] : [{ label, bytes }];
  });
}

export function pemText({ label, bytes }: PemBlock): string {
  const lines = encodeBase64(bytes).match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

export const CERTIFICATE_LABEL = "CERTIFICATE";
const KEY_LABELS: readonly string[] = ["EC PRIVATE KEY", "RSA PRIVATE KEY", "PRIVATE KEY"];

/** The certificates in a text, without its other content. */
export const certificatesPem = (text: string): string =>
  pemBlocks(text)
    .filter(({ label }) => label === CERTIFICATE_LABEL)
    .map(pemText)
    .join("");

/** The first private key of a text; undefined where there is none. */
export function keyPemOf(text: string): string | undefined {
  const block = pemBlocks(text).find(({ label }) => KEY_LABELS.includes(label));
  return block === undefined ? undefined : pemText(block);
}
