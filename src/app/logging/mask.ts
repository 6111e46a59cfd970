/**
 * Keeps secrets out of the log, whichever module logs them: masks fields by name, and anything that looks like a
 * credential. This is the last line of defense; callers must still keep credentials out of their messages.
 *
 * Pod authors, images and registries choose texts that are logged. The size of a line is bounded, and masking takes
 * time in proportion to it: every pattern either begins where no character of its first part precedes it, or has a
 * bounded length.
 */
import { firstBytes } from "../../base/cut-text.ts";
import { LOG_ITEMS_MAX, LOG_LINE_CHARS_MAX, LOG_TEXT_BYTES_MAX } from "../limits.ts";

const MASK = "<masked>";

/** Compared ignoring case, hyphens and underscores. */
const SECRET_NAMES = new Set([
  "accesstoken",
  "apikey",
  "auth",
  "authorization",
  "bearertoken",
  "clientkeydata",
  "cookie",
  "credentials",
  "dockercfg",
  "dockerconfigjson",
  "idtoken",
  "identitytoken",
  "keypem",
  "passwd",
  "password",
  "privatekey",
  "proxyauthorization",
  "refreshtoken",
  "registrytoken",
  "setcookie",
  "staticpodurlheader",
  "token",
]);

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // A whole key, or everything from its begin marker if the end marker is missing.
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, MASK],
  [/\b(Bearer|Basic)\s+[-A-Za-z0-9._~+/]{6,}=*/gi, `$1 ${MASK}`],
  // A JWT. Tried only in a run of its characters that two dots follow, so that each run is read once.
  [/(?<![-\w])(?=[-\w]+\.[-\w]+\.)((?:[-\w]*?-)?)eyJ[-\w]{5,}\.[-\w]+\.[-\w]*/g, `$1${MASK}`],
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, MASK],
  [/(\\?"(?:auth|password|identitytoken|registrytoken|token)\\?"\s*:\s*\\?")[^"\\]+/gi, `$1${MASK}`],
  [/\b((?:access_|id_|refresh_)?token|password|passwd|secret|client_secret)=[^\s&"',;]+/gi, `$1=${MASK}`],
  [/(\b[a-z][-+.a-z0-9]{0,30}:\/\/[^\s/:@]*:)[^\s/@]+@/gi, `$1${MASK}@`],
];

export function maskText(text: string): string {
  // A credential that the cut splits may not be recognized, so twice as much text is masked as is kept.
  let masked = text.slice(0, 2 * LOG_TEXT_BYTES_MAX);
  for (const [pattern, replacement] of PATTERNS) masked = masked.replace(pattern, replacement);
  const kept = firstBytes(masked, LOG_TEXT_BYTES_MAX);
  const isWhole = kept.length === masked.length && text.length <= 2 * LOG_TEXT_BYTES_MAX;
  return isWhole ? kept : `${kept}... (cut, ${text.length} characters)`;
}

const isSecretName = (name: string): boolean => SECRET_NAMES.has(name.toLowerCase().replaceAll(/[-_]/g, ""));

const DEPTH_MAX = 6;

/** How much text a line may still hold. */
interface Room {
  chars: number;
}

/** Returns the value masked and in a form that JSON can hold. Cuts off excess depth, items and text. */
export function maskValue(value: unknown, depth = 0, room: Room = { chars: LOG_LINE_CHARS_MAX }): unknown {
  if (typeof value === "string") return withinRoom(value, room);
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "function" || typeof value === "symbol") return withinRoom(String(value), room);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Error) return withinRoom(errorText(value), room);
  if (value instanceof Date) return value.toISOString();
  if (depth >= DEPTH_MAX || room.chars <= 0) return "...";
  if (ArrayBuffer.isView(value)) return `<${value.byteLength} bytes>`;
  if (Array.isArray(value) || value instanceof Set) {
    return [...firstItems(value)].map((item) => maskValue(item, depth + 1, room));
  }
  const entries: Iterable<[unknown, unknown]> = value instanceof Map ? value : Object.entries(value);
  const masked = [...firstItems(entries)].map(([key, item]): [string, unknown] => {
    const name = String(key).slice(0, NAME_CHARS_MAX);
    room.chars -= name.length;
    return [name, isSecretName(name) ? MASK : maskValue(item, depth + 1, room)];
  });
  return Object.fromEntries(masked);
}

const NAME_CHARS_MAX = 256;

function withinRoom(text: string, room: Room): string {
  if (room.chars <= 0) return "...";
  const masked = maskText(text);
  room.chars -= masked.length;
  return masked;
}

function* firstItems<T>(items: Iterable<T>): Iterable<T> {
  let count = 0;
  for (const item of items) {
    if (count === LOG_ITEMS_MAX) return;
    count += 1;
    yield item;
  }
}

/** The message, followed by those of its causes that it does not repeat. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : errorText(error.cause);
  return cause === "" || error.message.includes(cause) ? error.message || error.name : `${error.message}: ${cause}`;
}
