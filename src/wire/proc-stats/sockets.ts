/** TCP listeners, from the kernel's own tables. */
import type { KernelFiles } from "./kernel-files.ts";

export interface ListeningSocket {
  readonly address: string;
  readonly port: number;
  /** The inode number by which a process's descriptors name the socket. */
  readonly inode: string;
}

const LISTENING = "0A";

export async function readListeners(files: KernelFiles): Promise<readonly ListeningSocket[]> {
  const v6 = files.read("/proc/self/net/tcp6").catch((error: unknown) => {
    // A kernel without IPv6 has no such table.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  });
  return [await files.read("/proc/self/net/tcp"), await v6].flatMap(parseListeners);
}

/** Parses the text of /proc/net/tcp or tcp6. */
export function parseListeners(table: string): readonly ListeningSocket[] {
  return table.split("\n").flatMap((line) => {
    const fields = line.trim().split(/\s+/);
    const [, local = "", , state] = fields;
    const [address = "", port = ""] = local.split(":");
    if (state !== LISTENING || !/^(?:[0-9A-F]{8}|[0-9A-F]{32})$/.test(address)) return [];
    return [{ address: addressText(address), port: Number.parseInt(port, 16), inode: fields[9] ?? "" }];
  });
}

/** Each group of four bytes is a number in this machine's byte order, so its bytes are reversed. */
function addressText(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) =>
    (word.match(/../g) ?? []).toReversed().map((byte) => Number.parseInt(byte, 16)),
  );
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, at) => ((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0));
  // Written as in the URL standard, which is how addresses are written everywhere else.
  return new URL(`http://[${groups.map((group) => group.toString(16)).join(":")}]`).hostname.slice(1, -1);
}
