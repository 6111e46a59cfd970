/**
 * Creates a self-signed serving certificate: a CA whose key signs only this certificate and is then discarded, and the
 * certificate itself. A pair on disk is used for as long as it exists.
 */
import { errorText } from "../../base/error-text.ts";
import { parseIp } from "../../base/ip-address.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import type { PairPaths, ServingCertificate } from "../../domain/identity/certificate-pair.ts";
import { CERTIFICATE_LABEL, pemText } from "../../domain/identity/pem.ts";
import { type CertificateContent, certificateToSign, signed } from "../../domain/identity/x509-write.ts";
import type { Clock } from "../../ports/clock.ts";
import { readLinked } from "../../ports/follow-links.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Keys } from "../../ports/keys.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { CERTIFICATE_FILE_BYTES_MAX } from "../limits.ts";
import { pairOf } from "./certificate-store.ts";

export interface SelfSignedParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly keys: Keys;
}

export interface SelfSignedNames {
  /** A host name or an IP address. */
  readonly host: string;
  readonly addresses: readonly string[];
}

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

export function makeSelfSigned(
  { clock, random, keys }: SelfSignedParts,
  { host, addresses }: SelfSignedNames,
): ServingCertificate {
  const [authorityKey, keyPem] = [keys.make(), keys.make()];
  const seconds = Math.floor(clock.wallMs() / 1000);
  // Clocks differ: a certificate that is valid from now on would be in the future for some clients.
  const notBeforeWallMs = seconds * 1000 - HOUR_MS;
  const common = {
    authorityKeyId: serialFrom(random),
    issuer: { commonName: `${host}-ca@${seconds}`, organizations: [] },
    notBeforeWallMs,
    notAfterWallMs: notBeforeWallMs + YEAR_MS,
  };
  const sign = (content: CertificateContent) => {
    const { algorithm } = keys.describe(authorityKey);
    const toSign = certificateToSign(content, algorithm);
    return pemText({
      label: CERTIFICATE_LABEL,
      bytes: signed(toSign, algorithm, keys.sign(authorityKey, toSign)),
    });
  };
  const hostIp = parseIp(host);
  const ips = [...(hostIp === undefined ? [] : [hostIp.text]), ...addresses];
  const certificate = sign({
    ...common,
    serial: serialFrom(random),
    subject: { commonName: `${host}@${seconds}`, organizations: [] },
    dnsNames: hostIp === undefined ? [host] : [],
    ipAddresses: [...new Set(ips)],
    publicKeyDer: keys.describe(keyPem).publicKeyDer,
    use: "server",
  });
  const authority = sign({
    ...common,
    serial: serialFrom(random),
    subject: common.issuer,
    dnsNames: [],
    ipAddresses: [],
    publicKeyDer: keys.describe(authorityKey).publicKeyDer,
    use: "authority",
  });
  return { certificatePem: certificate + authority, keyPem };
}

/** Serial numbers are positive and unique. */
const serialFrom = (random: Random): Uint8Array =>
  Uint8Array.from([
    0x01,
    ...(random.uuid().replaceAll("-", "").match(/../g) ?? []).map((hex) => Number.parseInt(hex, 16)),
  ]);

export const selfSignedPaths = (directory: string): PairPaths => ({
  certificate: `${directory}/kubelet.crt`,
  key: `${directory}/kubelet.key`,
});

/**
 * Ensures that both files exist. A valid pair of an earlier start is kept, whichever kubelet wrote it; otherwise a new
 * pair is made.
 */
export async function ensureSelfSigned(
  parts: SelfSignedParts & { readonly files: HostFiles; readonly log: Log },
  directory: string,
  names: SelfSignedNames,
): Promise<PairPaths> {
  const { files, log } = parts;
  const paths = selfSignedPaths(directory);
  const there = [await files.facts(paths.certificate), await files.facts(paths.key)];
  if (there.every((facts) => facts !== undefined)) {
    const trouble = await pairTrouble(parts, paths);
    if (trouble === undefined) return paths;
    log.info(0, "The existing self-signed certificate is unusable; created another one", {
      path: paths.certificate,
      err: trouble,
    });
  }
  const { certificatePem, keyPem } = makeSelfSigned(parts, names);
  await files.makeDirectory(directory, 0o755);
  await files.writeAtomically(paths.key, utf8Bytes(keyPem), 0o600);
  await files.writeAtomically(paths.certificate, utf8Bytes(certificatePem), 0o644);
  log.info(4, "Using self-signed cert", { path: paths.certificate });
  return paths;
}

/** Returns why the files are not a valid pair; undefined if they are. */
async function pairTrouble(
  { files, keys }: { readonly files: HostFiles; readonly keys: Keys },
  paths: PairPaths,
): Promise<string | undefined> {
  try {
    const [certificate, key] = [
      utf8Text(await readLinked(files, paths.certificate, CERTIFICATE_FILE_BYTES_MAX)),
      utf8Text(await readLinked(files, paths.key, CERTIFICATE_FILE_BYTES_MAX)),
    ];
    pairOf(keys, certificate ?? "", key ?? "");
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}
