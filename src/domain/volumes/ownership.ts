/**
 * How `fsGroup` changes the mode of a file: its group may do what its owner is meant to, and new files in a directory
 * get the directory's group.
 */
const SET_GROUP = 0o2000;
const READ_WRITE = 0o660;
const READ_ONLY = 0o440;
const EXECUTE = 0o110;

interface FileShape {
  readonly mode: number;
  readonly gid: number;
  readonly isDirectory: boolean;
}

const mask = (isDirectory: boolean, readOnly: boolean): number =>
  (readOnly ? READ_ONLY : READ_WRITE) | (isDirectory ? EXECUTE | SET_GROUP : 0);

/** For everything except a symlink, whose mode means nothing. No permission is ever removed. */
export const groupMode = ({ mode, isDirectory }: FileShape, readOnly: boolean): number =>
  mode | mask(isDirectory, readOnly);

/**
 * Whether a volume needs no ownership pass. A pass changes the root last, so the root shows that a pass was completed.
 * A root that is not a directory shows nothing.
 */
export const rootIsOwned = (root: FileShape, group: number, readOnly: boolean): boolean =>
  root.isDirectory && root.gid === group && groupMode(root, readOnly) === root.mode;
