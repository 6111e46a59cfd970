/**
 * The certificates of one purpose on disk, as both kubelets keep them: each pair in a file named by its moment, certificate first, then the
 * key, for root alone; a link to the newest. A new pair is safe before the link moves, and the link moves in one step, so that at every
 * moment one whole pair is found. What cannot be read as a pair counts as none.
 */
import { bytesEqual } from "../../base/bytes-equal.ts";
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
  readonly folder: string;
  /** "kubelet-client" or "kubelet-server". */
  readonly prefix: string;
  /** Where an operator may have put a first pair, in the order of preference; the store never writes there. */
  readonly elsewhere?: readonly PairPaths[];
}

const FOLDER_MODE = 0o755;
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

  /** The first that can be read: the newest, or what an operator has put beside it. It may have expired. */
  async current(): Promise<CertificatePair | undefined> {
    await this.recover();
    const { folder, prefix, elsewhere = [] } = this.#parts;
    const plain = { certificate: `${folder}/${prefix}.crt`, key: `${folder}/${prefix}.key` };
    const own = { certificate: this.currentPath, key: this.currentPath };
    for (const paths of [own, ...elsewhere, plain]) {
      const pair = await this.#readPair(paths);
      if (pair !== undefined) return pair;
    }
    return undefined;
  }

  /**
   * The Go kubelet takes the old link away before it brings the new one; ended in between, it leaves the new one under another name. And a link that was just
   * made may be lost with the power, though the pair is there.
   */
  async recover(): Promise<void> {
    const { files } = this.#parts;
    const updated = this.#path("updated");
    const [current, next] = [await files.facts(this.currentPath), await files.facts(updated)];
    if (current !== undefined) return;
    if (next?.kind === "link") return files.rename(updated, this.currentPath);
    const newest = (await listIfThere(files, this.#parts.folder)).filter((name) => this.#isDated(name)).at(-1);
    if (newest !== undefined) await files.link(`${this.#parts.folder}/${newest}`, this.currentPath);
  }

  /** Makes the pair the current one. Rejects, with the old one untouched, where the two do not belong together. */
  async update(certificatePem: string, keyPem: string): Promise<CertificatePair> {
    const { files, keys, clock, folder } = this.#parts;
    const pair = pairOf(keys, certificatePem, keyPem);
    const moment = new Date(clock.wallMs()).toISOString().slice(0, 19).replaceAll(/[T:]/g, "-");
    const path = this.#path(moment);
    await files.makeFolder(folder, FOLDER_MODE);
    await files.writeAtomically(path, utf8Bytes(pair.certificatePem + pair.keyPem), PAIR_MODE);
    await files.link(path, this.currentPath);
    return pair;
  }

  #isDated(name: string): boolean {
    const { prefix } = this.#parts;
    return name.startsWith(`${prefix}-`) && /^\d{4}(-\d\d){5}\.pem$/.test(name.slice(prefix.length + 1));
  }

  #path(qualifier: string): string {
    return `${this.#parts.folder}/${this.#parts.prefix}-${qualifier}.pem`;
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
      log.error("A certificate cannot be used", error, { path: paths.certificate });
      return undefined;
    }
  }

  async #text(path: string): Promise<string> {
    const text = utf8Text(await readLinked(this.#parts.files, path, CERTIFICATE_FILE_BYTES_MAX));
    if (text === undefined) throw new Error(`${path} is no text`);
    return text;
  }
}

/** Throws where the texts hold no pair, or two halves of different ones. */
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
