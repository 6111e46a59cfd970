/**
 * Copies bytes unchanged between a client and the runtime, with backpressure in both directions. Resolves when both are
 * closed.
 *
 * When the runtime ends, all its output is delivered first. Our side of the client's connection is ended, and the
 * client's data is read and dropped for a while: closing on unread bytes would reset the connection and lose output in
 * flight. When the client leaves, the runtime's connection is ended and then closed.
 */
import type { Duplex } from "node:stream";
import type { Clock } from "../../ports/clock.ts";
import type { StreamEnd, StreamSession } from "./sessions.ts";

/** How long the other side may take to close after the end. */
export const LINGER_MS = 10_000;

export interface Joined {
  readonly client: Duplex;
  readonly runtime: Duplex;
  readonly session: StreamSession;
  readonly clock: Clock;
}

export async function proxyStreams({ client, runtime, session, clock }: Joined): Promise<void> {
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
    // Wait for the output to be flushed, however long that takes; the limit starts only then.
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
  // The stream is paused until its listeners are set.
  from.resume();
}

export function whenClosed(stream: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (stream.closed) resolve();
  else stream.once("close", () => resolve());
  return promise;
}
