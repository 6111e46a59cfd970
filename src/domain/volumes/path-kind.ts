/** What is at a path of the node. */
export type PathKind = "absent" | "file" | "folder" | "socket" | "charDevice" | "blockDevice" | "other";
