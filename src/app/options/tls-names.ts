/** Maps Go's names of TLS versions, cipher suites and curves to OpenSSL's. */

/** In order of preference. These suites are the default, as in Go. */
const STRONG: readonly (readonly [go: string, openssl: string])[] = [
  ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"],
  ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
  ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"],
  ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"],
  ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"],
  ["TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"],
  ["TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"],
  ["TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"],
];

/** Older names of two of these suites. */
const ALIASES: readonly (readonly [string, string])[] = [
  ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"],
];

/** Used only if configured; OpenSSL omits those that it no longer has. */
const WEAK: readonly (readonly [string, string])[] = [
  ["TLS_RSA_WITH_RC4_128_SHA", "RC4-SHA"],
  ["TLS_RSA_WITH_3DES_EDE_CBC_SHA", "DES-CBC3-SHA"],
  ["TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"],
  ["TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"],
  ["TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"],
  ["TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"],
  ["TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"],
  ["TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", "ECDHE-ECDSA-RC4-SHA"],
  ["TLS_ECDHE_RSA_WITH_RC4_128_SHA", "ECDHE-RSA-RC4-SHA"],
  ["TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "ECDHE-RSA-DES-CBC3-SHA"],
  ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"],
  ["TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"],
];

/** TLS 1.3 has no other suites, and they are not configurable. */
const ALWAYS = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"] as const;

const SUITES: ReadonlyMap<string, string> = new Map([
  ...STRONG,
  ...ALIASES,
  ...WEAK,
  ...ALWAYS.map((name) => [name, name] as const),
]);

const VERSIONS = {
  VersionTLS10: "TLSv1",
  VersionTLS11: "TLSv1.1",
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
} as const;

const CURVES: ReadonlyMap<number, string> = new Map([
  [23, "P-256"],
  [24, "P-384"],
  [25, "P-521"],
  [29, "X25519"],
  [4587, "SecP256r1MLKEM768"],
  [4588, "X25519MLKEM768"],
  [4589, "SecP384r1MLKEM1024"],
]);

/** OpenSSL's name, or Go's error message. */
export type Named<T extends string = string> =
  | { readonly kind: "known"; readonly name: T }
  | { readonly kind: "fault"; readonly fault: string };

const known = <T extends string>(name: T): Named<T> => ({ kind: "known", name });
const fault = (text: string): Named<never> => ({ kind: "fault", fault: text });

export function tlsVersion(name: string): Named<(typeof VERSIONS)[keyof typeof VERSIONS]> {
  if (name === "") return known(VERSIONS.VersionTLS12);
  return Object.hasOwn(VERSIONS, name)
    ? known(VERSIONS[name as keyof typeof VERSIONS])
    : fault(`unknown tls version ${JSON.stringify(name)}`);
}

/** Returns a list for OpenSSL. */
export function cipherSuites(names: readonly string[]): Named {
  const unknown = names.find((name) => !SUITES.has(name));
  if (unknown !== undefined) return fault(`Cipher suite ${unknown} not supported or doesn't exist`);
  const chosen = names.length === 0 ? STRONG.map(([, name]) => name) : names.map((name) => SUITES.get(name) ?? name);
  return known([...new Set([...ALWAYS, ...chosen])].join(":"));
}

export function curvePreferences(ids: readonly number[]): Named {
  const seen = new Set<number>();
  for (const id of ids) {
    if (id <= 0 || id > 65_535) return fault(`curve preference ${id} is out of range (must be 1-65535)`);
    if (seen.has(id)) return fault(`duplicate curve preference ${id}`);
    seen.add(id);
    if (!CURVES.has(id)) return fault(`curve preference ${id} is not supported by the current Go version`);
  }
  return known(ids.length === 0 ? "auto" : ids.map((id) => CURVES.get(id) ?? "").join(":"));
}
