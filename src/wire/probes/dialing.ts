/** Connections that serve one request each, and the errors of failed connections. */
import { connect, isIP, type OnReadOpts, type Socket } from "node:net";
import { hostAndPort } from "../../domain/probes/container-port.ts";
import { ProbeError, type ProbeFault, type ProbeTarget } from "../../ports/prober.ts";
import { hostNames, type NameSources, NODE_NAMES } from "./host-names.ts";

/** Go's error texts. */
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

/** Shortages of this machine, not of the application: ports, files, memory, or a name server that answers. */
const OURS = new Set(["EADDRNOTAVAIL", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EAI_AGAIN", "EAI_MEMORY"]);

interface SystemError extends Error {
  readonly code?: string;
  readonly syscall?: string;
}

/** If several addresses were tried, the error of the first one counts. */
export function systemError(error: unknown): SystemError {
  if (error instanceof AggregateError) return systemError(error.errors[0]);
  return error instanceof Error ? error : new Error(String(error));
}

export const faultOf = ({ code = "" }: SystemError): ProbeFault => (OURS.has(code) ? "ours" : "theirs");

export const textOf = ({ code = "", message }: SystemError): string => TEXTS[code] ?? message;

/** The error of a connection attempt that failed. */
export function dialError(thrown: unknown, { host, port }: ProbeTarget, url: string): ProbeError {
  const error = systemError(thrown);
  const detail =
    error.syscall === "getaddrinfo"
      ? `dial tcp: lookup ${host}: ${error.code === "ENOTFOUND" ? "no such host" : (error.code ?? error.message)}`
      : `dial tcp ${hostAndPort(host, port)}: connect: ${textOf(error)}`;
  return new ProbeError("connect", faultOf(error), detail, url);
}

/** Starts a connection. Its host name, if it has one, is resolved for it alone. */
export function connectTo(
  { host, port }: ProbeTarget,
  { onread, names = NODE_NAMES }: { readonly onread?: OnReadOpts; readonly names?: NameSources } = {},
): Socket {
  const target = { host, port, ...(onread === undefined ? {} : { onread }) };
  if (isIP(host) !== 0) return connect(target);
  const { lookup, endWith } = hostNames(names);
  const socket = connect({ ...target, lookup });
  endWith(socket);
  return socket;
}

const READ_BYTES = 16 * 1024;
/**
 * One buffer for all connections: its content is consumed before the next read. Without it each packet would cost a
 * buffer of 64 KiB.
 */
const READ_BUFFER = Buffer.alloc(READ_BYTES);

/** For an unencrypted connection: `take` receives each piece and must not keep it. */
export const readingInto = (take: (piece: Buffer) => void): OnReadOpts => ({
  buffer: READ_BUFFER,
  callback: (bytes) => {
    take(READ_BUFFER.subarray(0, bytes));
    return true;
  },
});

/** Resets the connection, so that no socket stays on the node in TIME_WAIT. */
export function hangUp(socket: Socket): void {
  if (socket.destroyed) return;
  // A connection that is being closed can no longer be reset: Node would lose track of it. So it is destroyed, and so
  // is one that the other side has closed.
  if (socket.writableEnded || socket.readableEnded || socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}

/** Rejects with a `ProbeError`, or with the signal's reason. */
export function dial(target: ProbeTarget, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTo(target);
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
