/** Plain HTTP responses. */
import type { ServerResponse } from "node:http";

const NO_GUESSING = { "X-Content-Type-Options": "nosniff" } as const;

export type Headers = Readonly<Record<string, string>>;

export const sendText = (response: ServerResponse, status: number, body: string, headers: Headers = {}): void =>
  send(response, status, "text/plain; charset=utf-8", body, headers);

export const sendJson = (response: ServerResponse, body: string, headers: Headers = {}): void =>
  send(response, 200, "application/json", body, headers);

/** Redirects with the headers and the body of Go's HTTP server: a GET also gets a link. */
export function redirect(response: ServerResponse, method: string | undefined, location: string): void {
  const page = `<a href="${location.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)}">Temporary Redirect</a>.\n\n`;
  const isRead = method === "GET" || method === "HEAD";
  response.writeHead(307, { Location: location, ...(isRead ? { "Content-Type": "text/html; charset=utf-8" } : {}) });
  response.end(method === "GET" ? page : "");
}

/** An API `Status` for a failed request, as clients of the API server read it. */
export const failureStatus = (code: number, reason: string, message: string): object => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message,
  reason,
  code,
});

/** Sends a body of any content type. */
export function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: string,
  headers: Headers = {},
): void {
  response.writeHead(status, {
    "Content-Type": type,
    ...NO_GUESSING,
    "Content-Length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}
