/**
 * Hands an upgrade on to the runtime's streaming server and, once that has agreed, carries the bytes of whatever is spoken then: SPDY, or a
 * WebSocket that the runtime speaks itself. Any other answer is passed on and the connection closed: nobody is left with a pipe to the runtime
 * that it did not agree to.
 */
import { Refusal } from "../route.ts";
import { type Dialled, dialRuntime, type Upgraded, upgradeHeaders } from "./dial-runtime.ts";
import { joinStreams } from "./join-streams.ts";
import type { Leaving, StreamParts } from "./stream-parts.ts";

/** Headers of an answer that are about its one connection, or that say where else to ask. */
const DROPPED = new Set(["content-length", "transfer-encoding", "keep-alive", "location"]);

export async function pipeToRuntime(
  url: string,
  { asked, socket, session }: Leaving,
  { clock }: Pick<StreamParts, "clock">,
): Promise<void> {
  const { request } = asked;
  const options = { url, method: request.method ?? "GET", headers: upgradeHeaders(request) };
  const dialled = upgraded(await dialRuntime(options, clock, session.cut));
  const lines = Object.entries(dialled.headers).flatMap(([name, value]) =>
    DROPPED.has(name) ? [] : [value ?? []].flat().map((one) => `${name}: ${one}`),
  );
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
  if (dialled.head.length > 0) dialled.socket.unshift(dialled.head);
  await joinStreams({ client: socket, runtime: dialled.socket, session, clock });
}

/** An error goes on as it is; any other answer is not what was asked for. */
export function upgraded(dialled: Dialled): Upgraded {
  if (dialled.kind === "upgraded") return dialled;
  const { status, body } = dialled;
  if (status < 400) throw new Refusal(500, `invalid upgrade response: status code ${status}\n`);
  throw new Refusal(status, body.toString("utf8"));
}
