/**
 * The private key of the first certificate. The key is on disk from before the request until the certificate is stored.
 * A restarted kubelet therefore reuses the same request under the same name, and nobody has to approve twice. The Go
 * kubelet computes the same name from the same file.
 */
import { createHash } from "node:crypto";
import { errorText } from "../../base/error-text.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import type { Subject } from "../../domain/identity/certificate-pair.ts";
import { keyPemOf } from "../../domain/identity/pem.ts";
import { readLinked } from "../../ports/follow-links.ts";
import { type HostFiles, isMissing, isTooLarge } from "../../ports/host-files.ts";
import { KeyError, type Keys } from "../../ports/keys.ts";
import type { Log } from "../../ports/log.ts";
import { PENDING_KEY_BYTES_MAX } from "../limits.ts";

export interface PendingKeyParts {
  readonly files: HostFiles;
  readonly keys: Keys;
  readonly log: Log;
  readonly directory: string;
}

export class PendingKey {
  readonly #parts: PendingKeyParts;

  constructor(parts: PendingKeyParts) {
    this.#parts = parts;
  }

  get #path(): string {
    return `${this.#parts.directory}/kubelet-client.key.tmp`;
  }

  /** Returns the key on disk, or a new one that is on disk when this resolves. */
  async loadOrMake(): Promise<string> {
    const kept = await this.#load();
    if (kept !== undefined) return kept;
    const { files, keys, directory } = this.#parts;
    const made = keys.make();
    await files.makeDirectory(directory, 0o755);
    await files.writeAtomically(this.#path, utf8Bytes(made), 0o600);
    return made;
  }

  /** Deletes the key once its certificate is stored or will never be issued. */
  async drop(): Promise<void> {
    await this.#parts.files.removeFile(this.#path);
  }

  async #load(): Promise<string | undefined> {
    const { files, keys, log } = this.#parts;
    try {
      const keyPem = keyPemOf(utf8Text(await readLinked(files, this.#path, PENDING_KEY_BYTES_MAX)) ?? "");
      if (keyPem === undefined) throw new KeyError("the text holds no private key");
      keys.describe(keyPem);
      return keyPem;
    } catch (error) {
      if (isMissing(error)) return undefined;
      if (!(error instanceof KeyError) && !isTooLarge(error)) throw error;
      log.info(0, "The key of a requested certificate is unusable; created another key", {
        path: this.#path,
        err: errorText(error),
      });
      return undefined;
    }
  }
}

/** The name hashes what distinguishes two requests: key, subject and usages. */
export function requestName(publicKeyDer: Uint8Array, subject: Subject, usages: readonly string[]): string {
  const texts = [subject.commonName, ...subject.organizations, ...usages];
  const hash = createHash("sha512-256");
  // The separator is not in this base64 alphabet, so different lists never produce the same input.
  for (const part of [publicKeyDer, ...texts.map(utf8Bytes)])
    hash.update(`${Buffer.from(part).toString("base64url")}|`);
  return `node-csr-${hash.digest("base64url")}`;
}
