/**
 * Reads the node's registry credentials, which apply to all pods: the first readable config.json, or else the first
 * readable .dockercfg. Files are read at each pull, so changes apply at once.
 */
import {
  type CredentialsByRegistry,
  type DockerConfigForm,
  parseDockerConfig,
} from "../../domain/images/docker-config.ts";
import { readLinked } from "../../ports/follow-links.ts";
import { HostFileError, type HostFiles, isMissing } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { CREDENTIALS_FILE_BYTES_MAX } from "../limits.ts";

export interface CredentialDirectories {
  readonly root: string;
  readonly working: string;
  /** Empty if there is no home directory. */
  readonly home: string;
}

export async function readNodeCredentials(
  { root, working, home }: CredentialDirectories,
  { files, log }: { readonly files: Pick<HostFiles, "facts" | "read" | "readLink">; readonly log: Log },
): Promise<readonly CredentialsByRegistry[]> {
  // Without a home directory its paths are below the working directory.
  const own = home === "" ? working : home;
  const places: readonly (readonly [DockerConfigForm, readonly string[]])[] = [
    ["config.json", [root, working, `${own}/.docker`, "/.docker"]],
    [".dockercfg", [root, working, own, ""]],
  ];
  for (const [form, directories] of places) {
    for (const directory of directories) {
      const path = `${directory === "/" ? "" : directory}/${form}`;
      const credentials = await credentialsIn(path, form, files, log);
      if (credentials !== undefined) return [credentials];
    }
  }
  return [];
}

async function credentialsIn(
  path: string,
  form: DockerConfigForm,
  files: Pick<HostFiles, "facts" | "read" | "readLink">,
  log: Log,
): Promise<CredentialsByRegistry | undefined> {
  try {
    const parsed = parseDockerConfig(
      new TextDecoder().decode(await readLinked(files, path, CREDENTIALS_FILE_BYTES_MAX)),
      form,
    );
    if (parsed.kind === "credentials") return parsed.credentials;
    log.info(4, "Ignored an invalid registry credentials file", { path, error: parsed.why });
  } catch (error) {
    if (!(error instanceof HostFileError)) throw error;
    if (!isMissing(error)) log.info(4, "Failed to read a registry credentials file", { path, error: error.message });
  }
  return undefined;
}
