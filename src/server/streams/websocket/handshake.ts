/** The server side of the WebSocket handshake: the subprotocol, or the reason for a rejection. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { TOKEN_PROTOCOL } from "../../authentication.ts";
import { HttpError } from "../../route.ts";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const KEY = /^[A-Za-z0-9+/]{22}==$/;

export function isUpgradeRequest({ headers }: IncomingMessage): boolean {
  const tokens = (headers.connection ?? "").toLowerCase().split(",");
  return tokens.some((token) => token.trim() === "upgrade") && (headers.upgrade ?? "") !== "";
}

export const isWebSocketRequest = (request: IncomingMessage): boolean =>
  isUpgradeRequest(request) && request.headers.upgrade?.toLowerCase() === "websocket";

/** In the client's order of preference. Skips a bearer token among the protocols. */
export const offeredProtocols = ({ headers }: IncomingMessage): readonly string[] =>
  (headers["sec-websocket-protocol"] ?? "")
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "" && !protocol.startsWith(TOKEN_PROTOCOL));

/** The 101 response. An invalid handshake is rejected with 400. */
export function acceptance({ headers, method }: IncomingMessage, protocol: string | undefined): string {
  const key = headers["sec-websocket-key"] ?? "";
  if (method !== "GET") throw new HttpError(400, "a WebSocket is opened with GET");
  if (headers["sec-websocket-version"] !== "13") throw new HttpError(400, "missing or bad WebSocket Version");
  if (!KEY.test(key)) throw new HttpError(400, "missing or bad WebSocket Key");
  const accept = createHash("sha1").update(`${key}${GUID}`).digest("base64");
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}
