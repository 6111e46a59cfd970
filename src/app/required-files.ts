/**
 * Checks files of the operator without which the Go kubelet does not start: the serving certificate with its key, and
 * the authorities of client certificates. With `--deckhand-compatibility=enhanced` the agent starts and waits for them.
 */
import { errorText } from "../base/error-text.ts";
import { CERTIFICATE_FILE_BYTES_MAX } from "../controllers/limits.ts";
import { readLinked } from "../ports/follow-links.ts";
import { type HostFiles, isMissing } from "../ports/host-files.ts";
import { bundleFault, servingFault } from "../server/certificate-pem.ts";
import type { CompiledOptions } from "./options/compiled-options.ts";

type Files = Pick<HostFiles, "facts" | "read" | "readLink">;

/** Why the agent does not start; undefined if it does. The words are the Go kubelet's, but for what OpenSSL says. */
export async function requiredFilesFault(
  { identity, server, compatibility }: Pick<CompiledOptions, "identity" | "server" | "compatibility">,
  files: Files,
): Promise<string | undefined> {
  if (!compatibility.misconfigurationIsFatal) return undefined;
  return (await clientCaFault(server.clientCa?.path, files)) ?? (await servingFilesFault(identity.serving, files));
}

async function clientCaFault(path: string | undefined, files: Files): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return faultOf([path], files, ([bundle = ""]) => {
    const name = `client-ca-bundle::${path}`;
    if (bundle === "") return `missing content for CA bundle "${name}"`;
    const fault = bundleFault(bundle);
    return fault === undefined ? undefined : `error loading CA bundle for "${name}": ${fault}`;
  });
}

async function servingFilesFault(
  serving: CompiledOptions["identity"]["serving"],
  files: Files,
): Promise<string | undefined> {
  if (serving.kind !== "files") return undefined;
  const { certificate, key } = serving.files;
  const fault = await faultOf([certificate, key], files, ([certificatePem = "", keyPem = ""]) =>
    certificatePem === "" || keyPem === ""
      ? `missing content for serving cert "kubelet-server-cert-files::${certificate}::${key}"`
      : servingFault({ certificatePem, keyPem }),
  );
  if (fault === undefined) return undefined;
  const why = serving.reload
    ? "failed to initialize file based certificate manager: unable to set up dynamic certificate manager for kubelet server cert files"
    : "failed to load certificate";
  return `failed to create kubelet: ${why}: ${fault}`;
}

/** What `fault` says of the files' texts, or why they cannot be read. */
async function faultOf(
  paths: readonly string[],
  files: Files,
  fault: (texts: readonly string[]) => string | undefined,
): Promise<string | undefined> {
  const texts: string[] = [];
  for (const path of paths) {
    try {
      texts.push(new TextDecoder().decode(await readLinked(files, path, CERTIFICATE_FILE_BYTES_MAX)));
    } catch (error) {
      return `open ${path}: ${isMissing(error) ? "no such file or directory" : errorText(error)}`;
    }
  }
  return fault(texts);
}
