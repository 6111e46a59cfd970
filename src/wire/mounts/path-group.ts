/**
 * Which paths form one group: a pod's volume with everything below it, and otherwise a path alone. This is a guess that
 * costs nothing and accesses no file system. The true extent of a mount is only in the kernel's table, which is too
 * long to read before each call.
 */
const POD_VOLUME = /^(.*?\/pods(?:\/[^/]+){4})(?:\/|$)/;

export const pathGroup = (path: string): string => POD_VOLUME.exec(path)?.[1] ?? path;
