/**
 * Folders that must exist inside a volume because another is mounted below it in some container: `/etc/app` and `/etc/app/certs`. The volume itself may be
 * read-only to the container, so nobody else can make them.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { everyContainer } from "../pod/every-container.ts";

export function nestedFolders({ spec }: Pod, volume: string): readonly string[] {
  return [...new Set(everyContainer(spec).flatMap(({ volumeMounts }) => nestedIn(volumeMounts ?? [], volume)))];
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
        // What lies below another nested mount is that volume's to hold.
        if (path.startsWith(outer) && !found.some((shorter) => path.startsWith(`${shorter}/`))) found.push(path);
      }
      return found.map((path) => path.slice(outer.length));
    });
}

/** Without doubled slashes, dots and steps back; a step back from the root stays there. */
function cleaned(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}
