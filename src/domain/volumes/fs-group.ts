/**
 * The user and the group that own the files of a pod's volumes, and how `fsGroup` changes the mode of a file: its group
 * may do what its owner is meant to, and new files in a directory get the directory's group.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { allContainers } from "../pod/containers.ts";

/**
 * The owner of the pod's secrets: the one user that every container runs as. Undefined: there are several, or the image
 * decides for one of them.
 */
export function podFileUser({ spec }: Pod): number | undefined {
  const users = new Set(
    allContainers(spec).map(({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser),
  );
  return users.size === 1 ? [...users][0] : undefined;
}

export const podFileGroup = ({ spec }: Pod): number | undefined => spec?.securityContext?.fsGroup;

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
