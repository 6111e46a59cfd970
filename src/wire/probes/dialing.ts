/** Connections for one question each, and what is said when there is none. */
import { connect, type Socket } from "node:net";
import { hostAndPort } from "../../domain/probes/container-port.ts";
import { ProbeError, type ProbeFault, type ProbeTarget } from "../../ports/prober.ts";

/** In Go's words. */
const TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by peer",
  ECONNABORTED: "software caused connection abort",
  EHOSTUNREACH: "no route to host",
  EHOSTDOWN: "host is down",
  ENETUNREACH: "network is unreachable",
  ENETDOWN: "network is down",
  ETIMEDOUT: "connection timed out",
  EPIPE: "broken pipe",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EINVAL: "invalid argument",
  EADDRNOTAVAIL: "cannot assign requested address",
  EMFILE: "too many open files",
  ENFILE: "too many open files in system",
  ENOMEM: "cannot allocate memory",
  ENOBUFS: "no buffer space available",
};

/** What this machine is short of, not the application: ports, files, memory, a name server that answers. */
const OURS = new Set(["EADDRNOTAVAIL", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EAI_AGAIN", "EAI_MEMORY"]);

interface SystemError extends Error {
  readonly code?: string;
  readonly syscall?: string;
}

/** Of several addresses that were tried, the first one speaks. */
export function systemError(error: unknown): SystemError {
  if (error instanceof AggregateError) return systemError(error.errors[0]);
  return error instanceof Error ? error : new Error(String(error));
}

export const faultOf = ({ code = "" }: SystemError): ProbeFault => (OURS.has(code) ? "ours" : "theirs");

export const textOf = ({ code = "", message }: SystemError): string => TEXTS[code] ?? message;

/** Why there is no connection. */
export function dialError(thrown: unknown, { host, port }: ProbeTarget, url: string): ProbeError {
  const error = systemError(thrown);
  const detail =
    error.syscall === "getaddrinfo"
      ? `dial tcp: lookup ${host}: ${error.code === "ENOTFOUND" ? "no such host" : (error.code ?? error.message)}`
      : `dial tcp ${hostAndPort(host, port)}: connect: ${textOf(error)}`;
  return new ProbeError("connect", faultOf(error), detail, url);
}

/** Reset at the end of its use, it leaves nothing on the node that waits for latecomers. */
export function hangUp(socket: Socket): void {
  if (socket.destroyed) return;
  // One that is being closed cannot be reset any more: Node would lose hold of it. What the other side has closed is simply let go of.
  if (socket.writableEnded || socket.readableEnded || socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}

/** Rejects with a `ProbeError`, or with the signal's reason. */
export function dial(target: ProbeTarget, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: target.host, port: target.port });
    const onAbort = () => {
      reject(signal.reason);
      socket.destroy();
    };
    const onError = (error: Error) => {
      signal.removeEventListener("abort", onAbort);
      reject(dialError(error, target, ""));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("error", onError);
    socket.once("connect", () => {
      signal.removeEventListener("abort", onAbort);
      socket.off("error", onError);
      resolve(socket);
    });
    if (signal.aborted) onAbort();
  });
}
