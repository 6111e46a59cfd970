/**
 * Registry logins that lie on the node for all its pods: the first config.json that can be read, or else the first .dockercfg. Read at each
 * pull, so that a change counts at once.
 */
import { type DockerConfigForm, type Logins, parseDockerConfig } from "../../domain/images/docker-config.ts";
import { readLinked } from "../../ports/follow-links.ts";
import { HostFileError, type HostFiles, isMissing } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { CREDENTIALS_FILE_BYTES_MAX } from "../limits.ts";

export interface CredentialFolders {
  readonly root: string;
  readonly working: string;
  /** Empty where there is none. */
  readonly home: string;
}

export async function readNodeLogins(
  { root, working, home }: CredentialFolders,
  { files, log }: { readonly files: Pick<HostFiles, "facts" | "read" | "readLink">; readonly log: Log },
): Promise<readonly Logins[]> {
  // Without a home its places are below the working folder.
  const own = home === "" ? working : home;
  const places: readonly (readonly [DockerConfigForm, readonly string[]])[] = [
    ["config.json", [root, working, `${own}/.docker`, "/.docker"]],
    [".dockercfg", [root, working, own, ""]],
  ];
  for (const [form, folders] of places) {
    for (const folder of folders) {
      const path = `${folder === "/" ? "" : folder}/${form}`;
      const logins = await loginsIn(path, form, files, log);
      if (logins !== undefined) return [logins];
    }
  }
  return [];
}

async function loginsIn(
  path: string,
  form: DockerConfigForm,
  files: Pick<HostFiles, "facts" | "read" | "readLink">,
  log: Log,
): Promise<Logins | undefined> {
  try {
    const parsed = parseDockerConfig(
      new TextDecoder().decode(await readLinked(files, path, CREDENTIALS_FILE_BYTES_MAX)),
      form,
    );
    if (parsed.kind === "logins") return parsed.logins;
    log.info(4, "A file with registry logins is none", { path, error: parsed.why });
  } catch (error) {
    if (!(error instanceof HostFileError)) throw error;
    if (!isMissing(error)) log.info(4, "A file with registry logins cannot be read", { path, error: error.message });
  }
  return undefined;
}
