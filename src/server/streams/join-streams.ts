/**
 * Bytes both ways between an asker and the runtime, unchanged, each side held back by the other. Resolves when both are closed.
 *
 * When the runtime ends, what it said is delivered first: the asker's end is closed politely and, for a while, listened to, since closing on unread
 * bytes would reset the connection under what is on its way. When the asker leaves, the runtime hears the end and is left.
 */
import type { Duplex } from "node:stream";
import type { Clock } from "../../ports/clock.ts";
import type { StreamEnd, StreamSession } from "./sessions.ts";

/** How long one who was told of the end may take to end as well. */
export const LINGER_MS = 10_000;

export interface Joined {
  readonly client: Duplex;
  readonly runtime: Duplex;
  readonly session: StreamSession;
  readonly clock: Clock;
}

export async function joinStreams({ client, runtime, session, clock }: Joined): Promise<void> {
  let over = false;
  let cancelLinger = () => {};
  const closed = Promise.all([whenClosed(client), whenClosed(runtime)]);
  const destroy = () => {
    client.destroy();
    runtime.destroy();
  };
  const linger = () => {
    cancelLinger();
    cancelLinger = clock.after(LINGER_MS, destroy);
  };
  const clientGone = () => {
    session.end("client");
    if (over) return destroy();
    over = true;
    linger();
    runtime.end(destroy);
  };
  const runtimeGone = (reason: StreamEnd) => {
    session.end(reason);
    if (over) return;
    over = true;
    // However long it takes to read what was said: only from then on has it to close.
    client.end(() => (client.closed ? undefined : linger()));
    client.resume();
  };
  for (const event of ["end", "close", "error"]) client.on(event, clientGone);
  runtime.on("end", () => runtimeGone("runtime"));
  for (const event of ["close", "error"]) runtime.on(event, () => runtimeGone("failed"));
  session.cut.addEventListener("abort", destroy, { once: true });
  if (session.cut.aborted) destroy();
  flow(client, runtime, session);
  flow(runtime, client, session);
  await closed;
  session.cut.removeEventListener("abort", destroy);
  cancelLinger();
}

function flow(from: Duplex, to: Duplex, session: StreamSession): void {
  from.on("data", (chunk: Buffer) => {
    session.active(chunk.length);
    if (to.writable && !to.write(chunk)) from.pause();
  });
  to.on("drain", () => from.resume());
  // Held back until somebody listened.
  from.resume();
}

export function whenClosed(stream: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (stream.closed) resolve();
  else stream.once("close", () => resolve());
  return promise;
}
