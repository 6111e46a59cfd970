/**
 * How a set of files replaces another one. A reader sees either set, never a mixture, whenever the kubelet dies.
 *
 * The files are in a separate directory with a unique name. The symlink `..data` points to it, and every name that
 * users see is a symlink through `..data`. One rename of `..data` makes the change. A process that opens a name finds
 * it in the old set or in the new one. A process that is notified of the rename finds every name. For that, new names
 * get their symlink before the rename; it is dangling until then. Removed names lose their symlink after the rename,
 * and the old directory is removed last.
 */
import { bytesEqual } from "../../base/bytes.ts";
import type { FileSet, ProjectedFile } from "./file-set.ts";

export const DATA_LINK = "..data";
export const DATA_LINK_NEXT = "..data_tmp";

/** The current content of the volume's directory. */
export interface PresentSet {
  /** The target of `..data`; undefined: none. */
  readonly directory: string | undefined;
  /** The files in it, by path; undefined: it does not exist, or not all of it could be read. */
  readonly files: ReadonlyMap<string, { readonly content: Uint8Array; readonly mode: number }> | undefined;
  /** All entries of the volume's directory. */
  readonly entries: readonly string[];
}

export interface WritePlan {
  /** Undefined: the present files are as wanted. */
  readonly write: FileSet | undefined;
  /** Missing names that users see, each a symlink through `..data`. */
  readonly addLinks: readonly string[];
  readonly removeLinks: readonly string[];
  /** Directories of sets that are unused after the plan is carried out. */
  readonly removeDirectories: readonly string[];
}

const isInternal = (name: string) => name.startsWith("..");
const firstPart = (path: string) => path.split("/", 1)[0] ?? path;

export function planWrite(wanted: FileSet, present: PresentSet, nested: readonly string[]): WritePlan {
  const names = new Set([...wanted.keys()].map(firstPart));
  const kept = new Set(nested.map(firstPart));
  const same = present.files !== undefined && sameFiles(wanted, present.files);
  const visible = present.entries.filter((name) => !isInternal(name));
  const current = same ? present.directory : undefined;
  return {
    write: same ? undefined : wanted,
    addLinks: [...names].filter((name) => !visible.includes(name) && !kept.has(name)).toSorted(),
    removeLinks: visible.filter((name) => !names.has(name) && !kept.has(name)),
    removeDirectories: present.entries.filter((name) => isSetDirectory(name) && name !== current),
  };
}

/** Created by a writer, ours or another kubelet's. */
const isSetDirectory = (name: string) => /^\.\.\d{4}(_\d\d){5}\./.test(name);

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

export const directoriesOf = (files: FileSet): readonly string[] => {
  const directories = new Set<string>();
  for (const path of files.keys()) {
    const parts = path.split("/");
    for (let depth = 1; depth < parts.length; depth += 1) directories.add(parts.slice(0, depth).join("/"));
  }
  return [...directories].toSorted();
};

/** `..2026_11_15_14_05_06.123456789`: the time of writing, and a unique number. */
export function setDirectoryName(wallMs: number, unique: number): string {
  const stamp = new Date(wallMs).toISOString().slice(0, 19).replaceAll(/[-T:]/g, "_");
  return `..${stamp}.${unique}`;
}

/** Adds read permission for the pod's group, if it has one. */
export const groupMode = (mode: number, group: number | undefined) => (group === undefined ? mode : mode | 0o440);
export const groupDirectoryMode = (mode: number, group: number | undefined) =>
  group === undefined ? mode : mode | 0o2550;

export const sameSet = (a: FileSet, b: FileSet): boolean =>
  a.size === b.size && [...a].every(([path, file]) => sameFile(file, b.get(path)));

const sameFile = (a: ProjectedFile, b: ProjectedFile | undefined): boolean =>
  b !== undefined && a.mode === b.mode && a.uid === b.uid && bytesEqual(a.content, b.content);
