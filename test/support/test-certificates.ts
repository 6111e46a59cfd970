/** Issues valid and invalid certificates of every kind, with openssl in the test's own directory. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Identity {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface Wanted {
  /** In openssl's format: "/O=system:masters/CN=admin". */
  readonly subject: string;
  /** Lines of an openssl extension file. */
  readonly extensions?: readonly string[];
  readonly days?: number;
  readonly digest?: "sha256" | "sha1";
  /** The identity whose key is used; a new key unless given. Only for self-signed certificates. */
  readonly keyOf?: Identity;
}

export const FOR_CLIENTS = "extendedKeyUsage=clientAuth";
export const FOR_SERVERS = "extendedKeyUsage=serverAuth";
export const AS_AUTHORITY = "basicConstraints=critical,CA:TRUE";

export class TestCertificates implements AsyncDisposable {
  readonly #directory: string;
  #made = 0;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async in(): Promise<TestCertificates> {
    return new TestCertificates(await mkdtemp(join(tmpdir(), "deckhand-certificates-")));
  }

  /** A self-signed certificate: an authority unless its extensions say otherwise. */
  async selfSigned({ subject, extensions = [AS_AUTHORITY], days = 2, keyOf }: Wanted): Promise<Identity> {
    const { key, file } = await this.#key();
    if (keyOf !== undefined) await writeFile(key, keyOf.keyPem);
    const added = extensions.flatMap((line) => ["-addext", line]);
    const args = ["req", "-x509", "-new", "-key", key, "-days", String(days), "-subj", subject, "-out", file];
    await run("openssl", [...args, ...added]);
    return this.#identity(key, file);
  }

  async issue(
    authority: Identity,
    { subject, extensions = [FOR_CLIENTS], days = 2, digest = "sha256" }: Wanted,
  ): Promise<Identity> {
    const { key, file } = await this.#key();
    const [request, extensionFile] = [`${file}.csr`, `${file}.ext`];
    const [signer, signerKey] = [`${file}.by.crt`, `${file}.by.key`];
    await Promise.all([
      writeFile(extensionFile, `${extensions.join("\n")}\n`),
      writeFile(signer, authority.certificatePem),
      writeFile(signerKey, authority.keyPem),
      run("openssl", ["req", "-new", "-key", key, "-subj", subject, "-out", request]),
    ]);
    this.#made += 1;
    const by = ["-CA", signer, "-CAkey", signerKey, "-set_serial", String(this.#made)];
    const how = ["-days", String(days), `-${digest}`, "-extfile", extensionFile];
    await run("openssl", ["x509", "-req", "-in", request, ...by, ...how, "-out", file]);
    return this.#identity(key, file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #key(): Promise<{ readonly key: string; readonly file: string }> {
    this.#made += 1;
    const name = join(this.#directory, String(this.#made));
    await run("openssl", ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", `${name}.key`]);
    return { key: `${name}.key`, file: `${name}.crt` };
  }

  async #identity(key: string, file: string): Promise<Identity> {
    const [keyPem, certificatePem] = await Promise.all([readFile(key, "utf8"), readFile(file, "utf8")]);
    return { keyPem, certificatePem };
  }
}
