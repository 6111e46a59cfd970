/**
 * Opens a connection to the API server through an HTTP proxy, by CONNECT. What the proxy cannot do is an error that
 * names the proxy without its password.
 */
import { type ClientRequest, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import type { Socket } from "node:net";
import { type Proxy, serverNaming, unbracketed } from "./connection.ts";

/** Ended by the caller's signal: neither Node nor this module limits the time. */
export function openTunnel(proxy: Proxy, server: URL, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const target = `${server.hostname}:${server.port === "" ? "443" : server.port}`;
  const fault = (why: string, cause?: unknown) => new Error(`proxy ${proxy.url.host}: ${why}`, { cause });
  const refusal = (why: string) => fault(`it refused the connection to ${target} with ${why}`);
  const request = connectRequest(proxy, target, signal);
  request.once("error", (error) => reject(signal.aborted ? signal.reason : fault(error.message, error)));
  request.once("response", (response) => {
    response.destroy();
    reject(refusal(`status ${response.statusCode}`));
  });
  request.once("connect", ({ statusCode = 0 }, socket, head) => {
    const isOpen = statusCode >= 200 && statusCode < 300;
    if (isOpen && head.length === 0) {
      resolve(socket);
      return;
    }
    socket.destroy();
    reject(refusal(isOpen ? "data before the TLS handshake" : `status ${statusCode}`));
  });
  request.end();
  return promise;
}

function connectRequest({ url, ca }: Proxy, target: string, signal: AbortSignal): ClientRequest {
  const { username, password } = url;
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64");
  const isTls = url.protocol === "https:";
  const options = {
    method: "CONNECT",
    host: unbracketed(url.hostname),
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    path: target,
    headers: { host: target, ...(username === "" ? {} : { "proxy-authorization": `Basic ${login}` }) },
    agent: false,
    signal,
  } as const;
  // Without a name of its own, Node takes it from the Host header, which names the API server.
  return isTls
    ? tlsRequest({ ...options, ...serverNaming(url), ca: [...ca], rejectUnauthorized: true })
    : plainRequest(options);
}
