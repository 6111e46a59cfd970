/** What exists at a path of the node. */
export type PathKind = "absent" | "file" | "directory" | "socket" | "charDevice" | "blockDevice" | "other";
