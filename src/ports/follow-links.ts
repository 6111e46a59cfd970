/**
 * Reads the node's own files that may be symbolic links to where a daemon or an operator keeps them. HostFiles itself
 * never follows a link.
 */
import { type FileFacts, HostFileError, type HostFiles } from "./host-files.ts";

export type LinkEnd =
  | { readonly kind: "found"; readonly path: string; readonly what: Exclude<FileFacts["kind"], "link"> }
  | { readonly kind: "nothing"; readonly path: string }
  /** More links than allowed: most likely a cycle. */
  | { readonly kind: "tooMany" };

/** Follows links at the end of the path, not links in its parent directories. */
export async function followLinks(
  files: Pick<HostFiles, "facts" | "readLink">,
  path: string,
  linksMax: number,
): Promise<LinkEnd> {
  let at = path;
  for (let links = 0; links <= linksMax; links += 1) {
    const facts = await files.facts(at);
    if (facts === undefined) return { kind: "nothing", path: at };
    if (facts.kind !== "link") return { kind: "found", path: at, what: facts.kind };
    const target = await files.readLink(at);
    at = target.startsWith("/") ? target : `${at.slice(0, at.lastIndexOf("/"))}/${target}`;
  }
  return { kind: "tooMany" };
}

const LINKS_MAX = 8;

/** Rejects "notFound" when the target does not exist, and "tooLarge" above `bytesMax`. */
export async function readLinked(
  files: Pick<HostFiles, "facts" | "read" | "readLink">,
  path: string,
  bytesMax: number,
): Promise<Uint8Array> {
  const end = await followLinks(files, path, LINKS_MAX);
  if (end.kind === "found") return files.read(end.path, bytesMax);
  if (end.kind === "nothing") throw new HostFileError("read", end.path, "notFound", "it is not there");
  throw new HostFileError("read", path, "other", `there are more than ${LINKS_MAX} links on the way`);
}
