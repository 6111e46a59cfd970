/** Sends a request of a command to the agent that runs with this root directory, over its local socket. */
import { request } from "node:http";
import { errorText } from "../base/error-text.ts";
import { localSocketPath, socketPathFault } from "../server/local-socket.ts";

export type AgentAnswer =
  | { readonly kind: "answered"; readonly body: string }
  | { readonly kind: "noAgent"; readonly path: string }
  /** The agent cannot answer this request, whatever its state. */
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "failed"; readonly why: string };

export type AskAgent = (rootDir: string, path: string) => Promise<AgentAnswer>;

const LIMIT_MS = 90_000;
const BYTES_MAX = 64 * 1024 * 1024;

export function askAgent(rootDir: string, path: string): Promise<AgentAnswer> {
  const socketPath = localSocketPath(rootDir);
  const fault = socketPathFault(socketPath);
  if (fault !== undefined) return Promise.resolve({ kind: "failed", why: fault });
  const { promise, resolve } = Promise.withResolvers<AgentAnswer>();
  const onError = (error: Error & { readonly code?: string }) => {
    const isGone = error.code === "ENOENT" || error.code === "ECONNREFUSED" || error.code === "ENOTDIR";
    resolve(isGone ? { kind: "noAgent", path: socketPath } : { kind: "failed", why: errorText(error) });
  };
  const asked = request({ socketPath, path, agent: false, timeout: LIMIT_MS }, (response) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    response.on("data", (part: Buffer) => {
      bytes += part.length;
      if (bytes > BYTES_MAX) asked.destroy(new Error(`the agent's answer exceeds ${BYTES_MAX} bytes`));
      else parts.push(part);
    });
    response.on("error", onError);
    response.on("end", () => {
      const body = Buffer.concat(parts).toString();
      const { statusCode } = response;
      if (statusCode === 200) resolve({ kind: "answered", body });
      else if (statusCode === 400) resolve({ kind: "refused", why: body.trim() });
      else resolve({ kind: "failed", why: `the agent answered ${statusCode}: ${body.trim()}` });
    });
  });
  asked.on("timeout", () => asked.destroy(new Error(`the agent did not answer within ${LIMIT_MS / 1000} s`)));
  asked.on("error", onError);
  asked.end();
  return promise;
}
