/** Base64 with the results and errors of Go's decoders, for layers without a platform decoder. */

export type Padding = "padded" | "bare";

export type Decoded =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** The text of Go's error, which users know. */
  | { readonly kind: "invalid"; readonly message: string };

const NONE = 255;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Uint8Array(128).fill(NONE);
for (const [value, character] of Array.from(ALPHABET).entries()) VALUES[character.charCodeAt(0)] = value;
const valueAt = (text: string, index: number) => VALUES[text.charCodeAt(index)] ?? NONE;

/** Skips line breaks. Unused bits of the last digit are ignored. */
export function decodeBase64(text: string, padding: Padding): Decoded {
  const digits = text.replaceAll(/[\r\n]/g, "");
  const body = padding === "padded" ? digits.replace(/={1,2}$/, "") : digits;
  const isCut = padding === "padded" ? digits.length % 4 !== 0 : body.length % 4 === 1;
  const bytes = isCut ? undefined : bytesOf(body);
  if (bytes !== undefined) return { kind: "bytes", bytes };
  const wrong = Array.from(text).findIndex((digit) => valueAt(digit, 0) === NONE && !/[\r\n]/.test(digit));
  const at = wrong >= 0 ? wrong : text.length - (digits.length % 4);
  return { kind: "invalid", message: `illegal base64 data at input byte ${at}` };
}

/** Decodes padded base64, as the API writes it; undefined if the text is invalid. */
export function base64Bytes(text: string): Uint8Array | undefined {
  const decoded = decodeBase64(text, "padded");
  return decoded.kind === "bytes" ? decoded.bytes : undefined;
}

function bytesOf(body: string): Uint8Array | undefined {
  const bytes = new Uint8Array(Math.floor((body.length * 3) / 4));
  let [bits, held, at] = [0, 0, 0];
  for (let index = 0; index < body.length; index += 1) {
    const value = valueAt(body, index);
    if (value === NONE) return undefined;
    bits = ((bits << 6) | value) & 0xffff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[at] = (bits >> held) & 0xff;
    at += 1;
  }
  return bytes;
}

/** Writes padding and no line breaks. */
export function encodeBase64(bytes: Uint8Array): string {
  const digits: string[] = [];
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(at, at + 3);
    const group = [a >> 2, ((a & 3) << 4) | (b >> 4), ((b & 15) << 2) | (c >> 6), c & 63];
    const used = Math.min(bytes.length - at, 3) + 1;
    digits.push(...group.map((value, index) => (index < used ? (ALPHABET[value] ?? "") : "=")));
  }
  return digits.join("");
}
