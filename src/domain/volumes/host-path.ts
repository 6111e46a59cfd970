/** What a hostPath's type asks of the path, given what is there. */
import type { PathKind } from "./path-kind.ts";

export type HostPathStep =
  | { readonly kind: "ready" }
  | { readonly kind: "makeFolder"; readonly mode: number }
  | { readonly kind: "makeFile"; readonly mode: number }
  | { readonly kind: "refused"; readonly message: string };

export function hostPathStep(path: string, type: string, found: PathKind): HostPathStep {
  const failed = (what: string): HostPathStep => ({
    kind: "refused",
    message: `hostPath type check failed: ${path} is not a ${what}`,
  });
  const needs = (kind: PathKind, what: string): HostPathStep => (found === kind ? { kind: "ready" } : failed(what));
  switch (type) {
    case "":
      return { kind: "ready" };
    case "DirectoryOrCreate":
      return found === "absent" ? { kind: "makeFolder", mode: 0o755 } : needs("folder", "directory");
    case "Directory":
      return needs("folder", "directory");
    case "FileOrCreate":
      return found === "absent" ? { kind: "makeFile", mode: 0o644 } : needs("file", "file");
    case "File":
      return needs("file", "file");
    case "Socket":
      return needs("socket", "socket file");
    case "CharDevice":
      return needs("charDevice", "character device");
    case "BlockDevice":
      return needs("blockDevice", "block device");
    default:
      return { kind: "refused", message: `${type} is an invalid volume type` };
  }
}
