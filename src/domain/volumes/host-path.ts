/** What a hostPath's type requires of the path, given what exists there. */

/** What exists at a path of the node. */
export type PathKind = "absent" | "file" | "directory" | "socket" | "charDevice" | "blockDevice" | "other";

export type HostPathStep =
  | { readonly kind: "ready" }
  | { readonly kind: "makeDirectory"; readonly mode: number }
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
      return found === "absent" ? { kind: "makeDirectory", mode: 0o755 } : needs("directory", "directory");
    case "Directory":
      return needs("directory", "directory");
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
