/**
 * Stores the certificates of one purpose on disk in the layout of the Go kubelet. Each pair is a file named by its
 * time, with the certificate before the key, readable by root only; a symlink points to the newest pair. A new pair is
 * written before the symlink changes, and the symlink changes atomically, so one complete pair exists at every moment.
 * A file that is not a valid pair is ignored.
 */
import { bytesEqual } from "../../base/bytes.ts";
import { DerError } from "../../base/der/read-der.ts";
import { errorText } from "../../base/error-text.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import type { CertificatePair, PairPaths } from "../../domain/identity/certificate-pair.ts";
import { certificatesPem, keyPemOf } from "../../domain/identity/pem.ts";
import { certificateFacts } from "../../domain/identity/x509-read.ts";
import type { Clock } from "../../ports/clock.ts";
import { followLinks, readLinked } from "../../ports/follow-links.ts";
import { type HostFiles, isMissing, listIfThere } from "../../ports/host-files.ts";
import { KeyError, type Keys } from "../../ports/keys.ts";
import type { Log } from "../../ports/log.ts";
import { CERTIFICATE_FILE_BYTES_MAX } from "../limits.ts";

export interface CertificateStoreParts {
  readonly files: HostFiles;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: string;
  /** Either "kubelet-client" or "kubelet-server". */
  readonly prefix: string;
  /** Other places where an operator may have put a first pair, in order of preference. The store never writes there. */
  readonly elsewhere?: readonly PairPaths[];
}

const DIRECTORY_MODE = 0o755;
const PAIR_MODE = 0o600;
const LINKS_MAX = 8;

export class CertificateStore {
  readonly #parts: CertificateStoreParts;

  constructor(parts: CertificateStoreParts) {
    this.#parts = parts;
  }

  get currentPath(): string {
    return this.#path("current");
  }

  /**
   * Returns the first readable pair: the newest stored pair, or one that an operator provides. The pair may have
   * expired.
   */
  async current(): Promise<CertificatePair | undefined> {
    await this.recover();
    const { directory, prefix, elsewhere = [] } = this.#parts;
    const plain = { certificate: `${directory}/${prefix}.crt`, key: `${directory}/${prefix}.key` };
    const own = { certificate: this.currentPath, key: this.currentPath };
    for (const paths of [own, ...elsewhere, plain]) {
      const pair = await this.#readPair(paths);
      if (pair !== undefined) return pair;
    }
    return undefined;
  }

  /**
   * Restores the missing symlink to the current pair. The Go kubelet removes the old symlink before it renames the new
   * one; a kill in between leaves the new symlink under the "updated" name. A power loss can also drop a new symlink
   * while its pair file survives.
   */
  async recover(): Promise<void> {
    const { files } = this.#parts;
    const updated = this.#path("updated");
    const [current, next] = [await files.facts(this.currentPath), await files.facts(updated)];
    if (current !== undefined) return;
    if (next?.kind === "link") return files.rename(updated, this.currentPath);
    const newest = (await listIfThere(files, this.#parts.directory)).filter((name) => this.#isDated(name)).at(-1);
    if (newest !== undefined) await files.link(`${this.#parts.directory}/${newest}`, this.currentPath);
  }

  /** Makes the pair the current one. Rejects if certificate and key do not match; the old pair then stays. */
  async update(certificatePem: string, keyPem: string): Promise<CertificatePair> {
    const { files, keys, clock, directory } = this.#parts;
    const pair = pairOf(keys, certificatePem, keyPem);
    const moment = new Date(clock.wallMs()).toISOString().slice(0, 19).replaceAll(/[T:]/g, "-");
    const path = this.#path(moment);
    await files.makeDirectory(directory, DIRECTORY_MODE);
    await files.writeAtomically(path, utf8Bytes(pair.certificatePem + pair.keyPem), PAIR_MODE);
    await files.link(path, this.currentPath);
    return pair;
  }

  #isDated(name: string): boolean {
    const { prefix } = this.#parts;
    return name.startsWith(`${prefix}-`) && /^\d{4}(-\d\d){5}\.pem$/.test(name.slice(prefix.length + 1));
  }

  #path(qualifier: string): string {
    return `${this.#parts.directory}/${this.#parts.prefix}-${qualifier}.pem`;
  }

  async #readPair(paths: PairPaths): Promise<CertificatePair | undefined> {
    const { files, keys, log } = this.#parts;
    try {
      const end = await followLinks(files, paths.certificate, LINKS_MAX);
      if (end.kind === "nothing") return undefined;
      const certificate = await this.#text(paths.certificate);
      return pairOf(keys, certificate, paths.key === paths.certificate ? certificate : await this.#text(paths.key));
    } catch (error) {
      if (isMissing(error)) return undefined;
      log.error("Found an unusable certificate", error, { path: paths.certificate });
      return undefined;
    }
  }

  async #text(path: string): Promise<string> {
    const text = utf8Text(await readLinked(this.#parts.files, path, CERTIFICATE_FILE_BYTES_MAX));
    if (text === undefined) throw new Error(`${path} is no text`);
    return text;
  }
}

/** Throws if the texts hold no pair, or if the private key does not match the certificate. */
export function pairOf(keys: Keys, certificateText: string, keyText: string): CertificatePair {
  const keyPem = keyPemOf(keyText);
  if (keyPem === undefined) throw new KeyError("the text holds no private key");
  let facts: ReturnType<typeof certificateFacts>;
  try {
    facts = certificateFacts(certificateText);
  } catch (error) {
    throw error instanceof DerError ? new Error(`not a certificate: ${errorText(error)}`, { cause: error }) : error;
  }
  const [first] = facts;
  if (first === undefined) throw new Error("the text holds no certificate");
  if (!bytesEqual(first.publicKeyDer, keys.describe(keyPem).publicKeyDer))
    throw new Error("the certificate and the private key do not belong together");
  return { certificatePem: certificatesPem(certificateText), keyPem, facts: first };
}
