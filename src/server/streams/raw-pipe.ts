/**
 * Forwards an upgrade to the runtime's streaming server. Once the server agrees, carries the bytes of the new protocol:
 * SPDY, or a WebSocket that the runtime speaks itself. Any other response is passed on and the connection is closed, so
 * that no client gets a pipe that the runtime did not agree to.
 */
import { HttpError } from "../route.ts";
import { type Dialled, dialRuntime, type Upgraded, upgradeHeaders } from "./dial-runtime.ts";
import { proxyStreams } from "./proxy-streams.ts";
import type { Leaving, StreamParts } from "./stream-parts.ts";

/** Response headers that apply to the runtime's connection only, or that redirect. */
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
  await proxyStreams({ client: socket, runtime: dialled.socket, session, clock });
}

/** Passes an error response on; any other response without an upgrade is an error itself. */
export function upgraded(dialled: Dialled): Upgraded {
  if (dialled.kind === "upgraded") return dialled;
  const { status, body } = dialled;
  if (status < 400) throw new HttpError(500, `invalid upgrade response: status code ${status}\n`);
  throw new HttpError(status, body.toString("utf8"));
}
