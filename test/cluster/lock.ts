/**
 * Locks between the processes of this machine. The kernel holds them, as abstract sockets, so they end with their holder: none is
 * left by a kill, and none has to be taken over from the dead.
 */
import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { pause } from "./wait.ts";

export type Unlock = () => Promise<void>;

/** Undefined when another holds it, be it in this process. */
export function tryLock(name: string): Promise<Unlock | undefined> {
  // Hashed, because an address is at most 107 bytes and a name may be a path.
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

/** Waits for its turn without an end: whoever holds it is alive and at work. */
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
