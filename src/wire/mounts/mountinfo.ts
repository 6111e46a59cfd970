/**
 * Parses the kernel's mount table, /proc/self/mountinfo. A line that cannot be parsed is an error and never left out:
 * what is not in the table is considered safe to remove.
 */
import type { MountPoint } from "../../ports/mounts.ts";

const FIELDS_MIN = 10;
const DELETED = " (deleted)";

export function parseMountinfo(text: string): readonly MountPoint[] {
  const mounts: MountPoint[] = [];
  for (const line of text.split("\n")) if (line !== "") mounts.push(parseLine(line));
  return mounts;
}

/** `id parent device root path options [tag:value ...] - type source superOptions` */
function parseLine(line: string): MountPoint {
  const fields = line.split(" ");
  const end = fields.indexOf("-", 6);
  const [device, root, path, options] = fields.slice(2, 6);
  const [type, source, superOptions] = fields.slice(end + 1);
  if (fields.length < FIELDS_MIN || end === -1) throw new Error(`no line of a mount table: ${JSON.stringify(line)}`);
  if (device === undefined || root === undefined || path === undefined || options === undefined || type === undefined) {
    throw new Error(`a mount without its fields: ${JSON.stringify(line)}`);
  }
  return {
    path: withoutMark(unescape(path)),
    root: unescape(root),
    type: unescape(type),
    source: unescape(source ?? ""),
    device,
    options: splitOptions(options),
    superOptions: splitOptions(superOptions ?? ""),
    propagation: fields.slice(6, end),
  };
}

/** Space, tab, newline, backslash and "#" are written as three octal digits. */
const unescape = (field: string): string =>
  field.includes("\\")
    ? field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)))
    : field;

/**
 * If a network server lost the directory, the kernel marks the mount's path; the path without the mark still unmounts
 * it.
 */
const withoutMark = (path: string): string => (path.endsWith(DELETED) ? path.slice(0, -DELETED.length) : path);

/** Splits at commas, except between double quotes, which SELinux contexts have. */
function splitOptions(field: string): readonly string[] {
  const options: string[] = [];
  let start = 0;
  let quoted = false;
  for (let index = 0; index <= field.length; index += 1) {
    if (field[index] === '"') quoted = !quoted;
    if (index < field.length && (field[index] !== "," || quoted)) continue;
    if (index > start) options.push(unescape(field.slice(start, index)));
    start = index + 1;
  }
  return options;
}

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`);

/** Stacked mounts at one path; the last one is visible. */
export const mountsAt = (table: readonly MountPoint[], path: string): readonly MountPoint[] =>
  table.filter((mount) => mount.path === path);

/** Includes mounts at the path itself. */
export const mountsWithin = (table: readonly MountPoint[], path: string): readonly MountPoint[] =>
  table.filter((mount) => isWithin(mount.path, path));

/** The mount on which a path lies: the latest one made over it. */
export const mountOf = (table: readonly MountPoint[], path: string): MountPoint | undefined =>
  table.findLast((mount) => isWithin(path, mount.path));

export const isShared = (mount: MountPoint | undefined): boolean =>
  mount?.propagation.some((tag) => tag.startsWith("shared:")) ?? false;
