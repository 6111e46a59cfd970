/**
 * Secrets do not reach a log, whoever says them: fields by their name, and what looks like a credential wherever it stands. The
 * last line of defence; whoever logs still keeps credentials out of what it says.
 */
const MASK = "<masked>";

/** Compared without case, hyphens and underscores. */
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
  // A whole key, or the part of one that a line break left.
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, MASK],
  [/\b(Bearer|Basic)\s+[-A-Za-z0-9._~+/]{6,}=*/gi, `$1 ${MASK}`],
  [/\beyJ[-A-Za-z0-9_]{5,}\.[-A-Za-z0-9_]+\.[-A-Za-z0-9_]*/g, MASK],
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, MASK],
  [/(\\?"(?:auth|password|identitytoken|registrytoken|token)\\?"\s*:\s*\\?")[^"\\]+/gi, `$1${MASK}`],
  [/\b((?:access_|id_|refresh_)?token|password|passwd|secret|client_secret)=[^\s&"',;]+/gi, `$1=${MASK}`],
  [/(\b[a-z][-+.a-z0-9]*:\/\/[^\s/:@]*:)[^\s/@]+@/gi, `$1${MASK}@`],
];

export function maskText(text: string): string {
  let masked = text;
  for (const [pattern, replacement] of PATTERNS) masked = masked.replace(pattern, replacement);
  return masked;
}

const isSecretName = (name: string): boolean => SECRET_NAMES.has(name.toLowerCase().replaceAll(/[-_]/g, ""));

const DEPTH_MAX = 6;

/** A value as JSON can hold it, masked. Deeper than a log line should go, it ends. */
export function maskValue(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return maskText(value);
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "function" || typeof value === "symbol") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Error) return maskText(errorText(value));
  if (value instanceof Date) return value.toISOString();
  if (depth >= DEPTH_MAX) return "...";
  if (ArrayBuffer.isView(value)) return `<${value.byteLength} bytes>`;
  if (value instanceof Map) return maskValue(Object.fromEntries(value), depth);
  if (Array.isArray(value) || value instanceof Set) return [...value].map((item) => maskValue(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, isSecretName(name) ? MASK : maskValue(item, depth + 1)]),
  );
}

/** The message, and those of the causes that it does not repeat. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : errorText(error.cause);
  return cause === "" || error.message.includes(cause) ? error.message || error.name : `${error.message}: ${cause}`;
}
