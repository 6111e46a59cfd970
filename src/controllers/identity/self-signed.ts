/**
 * A serving certificate that nobody but the node itself vouches for: an authority made for this one signature and forgotten, then the
 * certificate. On disk it is used for as long as it is there.
 */
import { errorText } from "../../base/error-text.ts";
import { parseIp } from "../../base/ip-address.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import type { PairPaths } from "../../domain/identity/certificate-pair.ts";
import { CERTIFICATE_LABEL, pemText } from "../../domain/identity/pem.ts";
import type { ServingCertificate } from "../../domain/identity/serving-certificate.ts";
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
  /** A name or an address. */
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
  // Clocks differ, and a certificate of this very moment is one of the future to some.
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

/** Positive and not repeated. */
const serialFrom = (random: Random): Uint8Array =>
  Uint8Array.from([
    0x01,
    ...(random.uuid().replaceAll("-", "").match(/../g) ?? []).map((hex) => Number.parseInt(hex, 16)),
  ]);

export const selfSignedPaths = (folder: string): PairPaths => ({
  certificate: `${folder}/kubelet.crt`,
  key: `${folder}/kubelet.key`,
});

/** Both files, there when this resolves: those of an earlier start, whichever kubelet's, or new ones where these are no pair. */
export async function ensureSelfSigned(
  parts: SelfSignedParts & { readonly files: HostFiles; readonly log: Log },
  folder: string,
  names: SelfSignedNames,
): Promise<PairPaths> {
  const { files, log } = parts;
  const paths = selfSignedPaths(folder);
  const there = [await files.facts(paths.certificate), await files.facts(paths.key)];
  if (there.every((facts) => facts !== undefined)) {
    const trouble = await pairTrouble(parts, paths);
    if (trouble === undefined) return paths;
    log.info(0, "The self-signed certificate there is cannot be used; another is made", {
      path: paths.certificate,
      err: trouble,
    });
  }
  const { certificatePem, keyPem } = makeSelfSigned(parts, names);
  await files.makeFolder(folder, 0o755);
  await files.writeAtomically(paths.key, utf8Bytes(keyPem), 0o600);
  await files.writeAtomically(paths.certificate, utf8Bytes(certificatePem), 0o644);
  log.info(4, "Using self-signed cert", { path: paths.certificate });
  return paths;
}

/** Undefined: a pair. */
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
