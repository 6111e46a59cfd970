/** A unix socket whose other end is a test's. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Calls `accept` with each that connects, while `work` runs with the path to connect to. */
export async function withSocket(
  accept: (socket: Socket) => void,
  work: (path: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "deckhand-guest-socket-"));
  const path = join(folder, "socket");
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    accept(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  try {
    await work(path);
  } finally {
    for (const socket of open) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(folder, { recursive: true });
  }
}
