/** A unix socket whose other end the test controls. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Calls `accept` with each connection, while `work` runs with the path to connect to. */
export async function withSocket(
  accept: (socket: Socket) => void,
  work: (path: string) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "deckhand-guest-socket-"));
  const path = join(directory, "socket");
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
    await rm(directory, { recursive: true });
  }
}
