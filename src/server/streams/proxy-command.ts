/**
 * Runs exec and attach sessions after the target is found. They are piped in a protocol that the runtime speaks, or
 * translated from a WebSocket that can signal the end of stdin (v5.channel.k8s.io).
 */
import type { StreamOptions } from "../../ports/runtime.ts";
import { dialRuntime } from "./dial-runtime.ts";
import { pipeToRuntime } from "./raw-pipe.ts";
import { translateCommand } from "./remote-command.ts";
import { withHttpError } from "./runtime-http-error.ts";
import type { Leaving, StreamParts, StreamTarget } from "./stream-parts.ts";
import { acceptance, isWebSocketRequest, offeredProtocols } from "./websocket/handshake.ts";

const WITH_CLOSE_SIGNAL = "v5.channel.k8s.io";
const TO_RUNTIME = {
  connection: "Upgrade",
  upgrade: "SPDY/3.1",
  "x-stream-protocol-version": "v4.channel.k8s.io",
  "content-length": "0",
};

export interface CommandTarget extends StreamTarget {
  readonly options: StreamOptions;
}

export async function proxyCommand(
  verb: "exec" | "attach",
  parts: StreamParts,
  { url: urlOf, options }: CommandTarget,
  leaving: Leaving,
): Promise<void> {
  const { asked, socket, session } = leaving;
  const { clock } = parts;
  const url = await withHttpError(urlOf(session.cut));
  const { request } = asked;
  const translated =
    parts.webSockets && isWebSocketRequest(request) && offeredProtocols(request).includes(WITH_CLOSE_SIGNAL);
  if (!translated) return pipeToRuntime(url, leaving, parts);
  parts.sessions.webSocketAsked(verb);
  session.carried = "translated";
  socket.write(acceptance(request, WITH_CLOSE_SIGNAL));
  await translateCommand({ client: socket, dial: () => dial(url, parts, leaving), options, session, clock });
}

async function dial(url: string, { clock }: StreamParts, { session }: Leaving) {
  const dialled = await dialRuntime({ url, method: "POST", headers: TO_RUNTIME }, clock, session.cut);
  if (dialled.kind === "upgraded") return dialled;
  throw new Error(`unable to upgrade connection: ${dialled.body.toString("utf8").slice(0, 1_024)}`);
}
