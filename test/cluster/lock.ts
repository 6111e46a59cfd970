/**
 * Locks between the processes of this machine. The kernel holds them, as abstract sockets, so they end with their
 * holder. A killed process leaves no lock behind, and no stale lock has to be taken over.
 */
import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { pause } from "./wait.ts";

export type Unlock = () => Promise<void>;

/** Returns undefined when the lock is already held, in this process or another. */
export function tryLock(name: string): Promise<Unlock | undefined> {
  // Hashed, because an abstract address has at most 107 bytes and a name may be a path.
  const address = `\0deckhand-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
  const server = createServer((visitor) => visitor.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen(address, () => resolve(() => new Promise((closed) => server.close(() => closed()))));
  });
}

/** Waits without a time limit: the holder of the lock is alive and working. */
export async function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  let unlock = await tryLock(name);
  while (unlock === undefined) {
    await pause(100);
    unlock = await tryLock(name);
  }
  try {
    return await work();
  } finally {
    await unlock();
  }
}
