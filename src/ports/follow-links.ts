/** Files of the node's own that may well be links to where a daemon or an operator keeps them: HostFiles itself never follows one. */
import { type FileFacts, HostFileError, type HostFiles } from "./host-files.ts";

export type LinkEnd =
  | { readonly kind: "found"; readonly path: string; readonly what: Exclude<FileFacts["kind"], "link"> }
  | { readonly kind: "nothing"; readonly path: string }
  /** More than so many: most likely they go in a circle. */
  | { readonly kind: "tooMany" };

/** Follows links at the end of the path, not those on the way to it. */
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

/** Rejects "notFound" when there is nothing at the end, and "tooLarge" above `bytesMax`. */
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
