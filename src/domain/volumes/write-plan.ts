/**
 * How a set of files replaces another so that a reader sees the one or the other, never a mixture, whatever moment we die at.
 *
 * The files lie in a folder of their own with a name of its own; the link `..data` leads there, and every name that users see is a link through
 * `..data`. One rename of `..data` is the change: whoever opens a name finds it in the old set or in the new one, and whoever is told of the rename finds
 * every name. For that, names that are new get their link before it (it leads nowhere until then), names that are gone lose theirs after it, and the
 * old folder goes last.
 */
import { bytesEqual } from "../../base/bytes-equal.ts";
import type { FileSet, ProjectedFile } from "./file-set.ts";

export const DATA_LINK = "..data";
export const DATA_LINK_NEXT = "..data_tmp";

/** What lies in the volume's folder now. */
export interface PresentSet {
  /** Where `..data` leads; undefined: nowhere. */
  readonly folder: string | undefined;
  /** The files in it, by path; undefined: it is not there, or not all of it could be read. */
  readonly files: ReadonlyMap<string, { readonly content: Uint8Array; readonly mode: number }> | undefined;
  /** All entries of the volume's folder. */
  readonly entries: readonly string[];
}

export interface WritePlan {
  /** Undefined: what is there is as wanted. */
  readonly write: FileSet | undefined;
  /** Names that users see, each a link through `..data`, that are missing. */
  readonly addLinks: readonly string[];
  readonly removeLinks: readonly string[];
  /** Folders of sets that nobody sees any more once the plan is carried out. */
  readonly removeFolders: readonly string[];
}

const isInternal = (name: string) => name.startsWith("..");
const firstPart = (path: string) => path.split("/", 1)[0] ?? path;

export function planWrite(wanted: FileSet, present: PresentSet, nested: readonly string[]): WritePlan {
  const names = new Set([...wanted.keys()].map(firstPart));
  const kept = new Set(nested.map(firstPart));
  const same = present.files !== undefined && sameFiles(wanted, present.files);
  const visible = present.entries.filter((name) => !isInternal(name));
  const current = same ? present.folder : undefined;
  return {
    write: same ? undefined : wanted,
    addLinks: [...names].filter((name) => !visible.includes(name) && !kept.has(name)).toSorted(),
    removeLinks: visible.filter((name) => !names.has(name) && !kept.has(name)),
    removeFolders: present.entries.filter((name) => isSetFolder(name) && name !== current),
  };
}

/** Made by a writer, ours or another kubelet's. */
const isSetFolder = (name: string) => /^\.\.\d{4}(_\d\d){5}\./.test(name);

function sameFiles(
  wanted: FileSet,
  present: ReadonlyMap<string, { readonly content: Uint8Array; readonly mode: number }>,
): boolean {
  if (wanted.size !== present.size) return false;
  return [...wanted].every(([path, file]) => {
    const there = present.get(path);
    return there !== undefined && bytesEqual(there.content, file.content);
  });
}

export const foldersOf = (files: FileSet): readonly string[] => {
  const folders = new Set<string>();
  for (const path of files.keys()) {
    const parts = path.split("/");
    for (let depth = 1; depth < parts.length; depth += 1) folders.add(parts.slice(0, depth).join("/"));
  }
  return [...folders].toSorted();
};

/** `..2026_11_15_14_05_06.123456789`: when it was written, and a number that no other has. */
export function setFolderName(wallMs: number, unique: number): string {
  const stamp = new Date(wallMs).toISOString().slice(0, 19).replaceAll(/[-T:]/g, "_");
  return `..${stamp}.${unique}`;
}

/** With the group that may read it, where the pod has one. */
export const groupMode = (mode: number, group: number | undefined) => (group === undefined ? mode : mode | 0o440);
export const groupFolderMode = (mode: number, group: number | undefined) =>
  group === undefined ? mode : mode | 0o2550;

export const sameSet = (a: FileSet, b: FileSet): boolean =>
  a.size === b.size && [...a].every(([path, file]) => sameFile(file, b.get(path)));

const sameFile = (a: ProjectedFile, b: ProjectedFile | undefined): boolean =>
  b !== undefined && a.mode === b.mode && a.uid === b.uid && bytesEqual(a.content, b.content);
