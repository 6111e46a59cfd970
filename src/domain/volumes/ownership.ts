/** What `fsGroup` makes of the mode of a file: its group may do what its owner is meant to, and new files in a folder get the folder's group. */
const SET_GROUP = 0o2000;
const READ_WRITE = 0o660;
const READ_ONLY = 0o440;
const EXECUTE = 0o110;

interface FileShape {
  readonly mode: number;
  readonly gid: number;
  readonly isFolder: boolean;
}

const mask = (isFolder: boolean, readOnly: boolean): number =>
  (readOnly ? READ_ONLY : READ_WRITE) | (isFolder ? EXECUTE | SET_GROUP : 0);

/** Of anything but a link, whose own mode means nothing. Nothing is ever taken away. */
export const groupMode = ({ mode, isFolder }: FileShape, readOnly: boolean): number => mode | mask(isFolder, readOnly);

/** Whether a volume needs no pass: its root, which is changed last, says that one has been through. A root that is no folder says nothing. */
export const rootIsOwned = (root: FileShape, group: number, readOnly: boolean): boolean =>
  root.isFolder && root.gid === group && groupMode(root, readOnly) === root.mode;
