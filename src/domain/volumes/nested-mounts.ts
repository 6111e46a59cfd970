/**
 * Directories that must exist inside a volume because another one is mounted below it in some container: `/etc/app` and
 * `/etc/app/certs`. The volume may be read-only for the container, so only the kubelet can create them.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { allContainers } from "../pod/containers.ts";

export function nestedDirectories({ spec }: Pod, volume: string): readonly string[] {
  return [...new Set(allContainers(spec).flatMap(({ volumeMounts }) => nestedIn(volumeMounts ?? [], volume)))];
}

function nestedIn(
  mounts: readonly { readonly name: string; readonly mountPath: string }[],
  volume: string,
): readonly string[] {
  const all = mounts.map(({ mountPath }) => cleaned(mountPath)).toSorted();
  return mounts
    .filter(({ name }) => name === volume)
    .flatMap(({ mountPath }) => {
      const outer = `${cleaned(mountPath)}/`;
      const found: string[] = [];
      for (const path of all) {
        // A path below another nested mount belongs to that mount's volume.
        if (path.startsWith(outer) && !found.some((shorter) => path.startsWith(`${shorter}/`))) found.push(path);
      }
      return found.map((path) => path.slice(outer.length));
    });
}

/** Without doubled slashes, "." and ".."; a ".." at the root stays there. */
function cleaned(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}
