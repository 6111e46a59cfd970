import { HostFileError, type HostFiles } from "../../ports/host-files.ts";

const LINKS_MAX = 8;

/** A file of the node's own, such as its resolver's, which may well be a link to where a daemon keeps it. Rejects "tooLarge" above `bytesMax`. */
export async function readLinked(
  files: Pick<HostFiles, "facts" | "read" | "readLink">,
  path: string,
  bytesMax: number,
): Promise<Uint8Array> {
  let at = path;
  for (let links = 0; links <= LINKS_MAX; links += 1) {
    if ((await files.facts(at))?.kind !== "link") return files.read(at, bytesMax);
    const target = await files.readLink(at);
    at = target.startsWith("/") ? target : `${at.slice(0, at.lastIndexOf("/"))}/${target}`;
  }
  throw new HostFileError("read", path, "other", `there are more than ${LINKS_MAX} links on the way`);
}
