/**
 * Which paths hang together: a volume of a pod with all below it, and otherwise a path by itself. A guess that costs nothing and asks no file
 * system; the true extent of a mount is in the kernel's table only, which is too long to read before each call.
 */
const POD_VOLUME = /^(.*?\/pods(?:\/[^/]+){4})(?:\/|$)/;

export const pathGroup = (path: string): string => POD_VOLUME.exec(path)?.[1] ?? path;
