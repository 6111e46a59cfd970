/**
 * The request target of a GET for a path as users write it in a probe, escaped as the Go kubelet escapes it. A scheme,
 * a host and a fragment are dropped. A path with invalid escapes is taken literally.
 */
import { utf8Bytes } from "../../base/utf8.ts";

/** Characters that need no escape in a path. */
const PLAIN = /^[A-Za-z0-9\-_.~$&+,/:;=@]$/;
const ENCODED = /^(?:[A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]]|%[0-9A-Fa-f]{2})*$/;
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
const CONTROL = /\p{Cc}/u;

export function requestTarget(path: string): string {
  const parsed = parse(path);
  if (parsed === undefined) return withSlash(escapePath(path));
  const { rawPath, query } = parsed;
  const escaped = ENCODED.test(rawPath) ? rawPath : escapePath(unescape(rawPath));
  return withSlash(escaped) + (query === undefined ? "" : `?${query.replaceAll(" ", "%20")}`);
}

function parse(text: string): { readonly rawPath: string; readonly query: string | undefined } | undefined {
  if (CONTROL.test(text)) return undefined;
  const [withoutFragment = ""] = text.split("#", 1);
  const withoutScheme = withoutFragment.replace(/^[A-Za-z][A-Za-z0-9+.-]*:(?=\/)/, "");
  const queryAt = withoutScheme.indexOf("?");
  const before = queryAt < 0 ? withoutScheme : withoutScheme.slice(0, queryAt);
  // A colon in the first segment would make it a scheme.
  if (/^[^/]*:/.test(before)) return undefined;
  const rawPath = before.startsWith("//") ? before.slice(2).replace(/^[^/]*/, "") : before;
  if (BAD_ESCAPE.test(rawPath)) return undefined;
  return { rawPath, query: queryAt < 0 ? undefined : withoutScheme.slice(queryAt + 1) };
}

const withSlash = (path: string): string => (path.startsWith("/") ? path : `/${path}`);

function escapePath(path: string | Uint8Array): string {
  const bytes = typeof path === "string" ? utf8Bytes(path) : path;
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return PLAIN.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

/** Returns bytes, which need not be valid text. */
function unescape(path: string): Uint8Array {
  const bytes = utf8Bytes(path);
  const plain: number[] = [];
  for (let at = 0; at < bytes.length; at += 1) {
    const isEscape = bytes[at] === 0x25;
    plain.push(isEscape ? Number.parseInt(path16(bytes, at + 1), 16) : (bytes[at] ?? 0));
    if (isEscape) at += 2;
  }
  return Uint8Array.from(plain);
}

const path16 = (bytes: Uint8Array, at: number): string => String.fromCharCode(bytes[at] ?? 0, bytes[at + 1] ?? 0);
