/**
 * One GET on its own connection, written and parsed here, because a node probes its applications hundreds of times a
 * second.
 */
import { isIP, type Socket } from "node:net";
import { connect as connectSecurely, createSecureContext } from "node:tls";
import { goQuote } from "../../base/go-text.ts";
import { type HttpGet, urlOf } from "../../domain/probes/http-get.ts";
import { type HttpAnswer, PLAIN_ANSWER, ProbeError } from "../../ports/prober.ts";
import { connectTo, dialError, faultOf, hangUp, readingInto, systemError, textOf } from "./dialing.ts";
import { type AnswerHead, BadResponse, ResponseReader } from "./http-response.ts";
import { type Limit, limited } from "./limited.ts";

/** OpenSSL's error codes for an answer that is not TLS. */
const NOT_TLS = new Set(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG", "EPROTO"]);

/**
 * A response takes a few reads. Beyond that, each read is followed by a pause, and the pauses grow: data that arrives
 * byte by byte collects in the kernel meanwhile, and costs the event loop little.
 */
export const READS_AT_ONCE = 8;
const READ_PAUSE_MS = 20;
const READ_PAUSE_MS_MAX = 100;

/** The pause after the read with this number; the first is 1. */
const readPauseMs = (reads: number): number =>
  Math.min(READ_PAUSE_MS * Math.max(0, reads - READS_AT_ONCE + 1), READ_PAUSE_MS_MAX);

/**
 * `bodyBytesMax` says, given the head, how much of the body is wanted. Rejects with a `ProbeError`, or with the
 * signal's reason.
 */
export function sendGet(
  get: HttpGet,
  bodyBytesMax: (head: AnswerHead) => number,
  limit: Limit,
  signal: AbortSignal,
): Promise<AnswerHead & HttpAnswer> {
  return limited(limit, signal, ({ answer, fail }) => {
    const request = requestText(get);
    const reader = new ResponseReader(bodyBytesMax);
    /** Runs one step of the reader, which throws on an invalid response. */
    const read = (whole: () => boolean) => {
      try {
        const isWhole = whole();
        const { head, body } = reader;
        if (isWhole && head !== undefined) answer({ status: head.status, location: head.location, body });
      } catch (error) {
        fail(error instanceof BadResponse ? refusal(error, get) : error);
      }
    };
    const isPlain = get.scheme === "http";
    let reads = 0;
    let cancelPause = () => {};
    const take = (piece: Buffer) => {
      reads += 1;
      if (reads >= READS_AT_ONCE) {
        channel?.pause();
        cancelPause = limit.clock.after(readPauseMs(reads), () => channel?.resume());
      }
      read(() => reader.take(piece));
    };
    const socket = connectTo(get, isPlain ? { onread: readingInto(take) } : {});
    let channel: Socket | undefined;
    const broken = (error: Error) => failure(error, get, reader.head);
    socket.on("error", (error) => fail(channel === undefined ? dialError(error, get, urlOf(get)) : broken(error)));
    socket.on("connect", () => {
      channel = isPlain ? socket : secured(socket, get.host);
      if (channel !== socket) channel.on("error", (error) => fail(broken(error))).on("data", take);
      channel.on("end", () =>
        read(() => {
          reader.end();
          return true;
        }),
      );
      channel.write(request);
    });
    return {
      step: () => (channel === undefined ? "connect" : reader.head === undefined ? "answer" : "body"),
      url: () => urlOf(get),
      close: () => {
        cancelPause();
        hangUp(socket);
        if (channel !== socket) channel?.destroy();
      },
    };
  });
}

/** Characters that would end a header, or the request, early. */
const UNSENDABLE = /[^\P{Cc}\t]/u;

function requestText(get: HttpGet): string {
  let text = `GET ${get.target} HTTP/1.1\r\n`;
  for (const [name, value] of get.headers) {
    const refuse = (what: string) =>
      new ProbeError("answer", "theirs", `net/http: invalid header field ${what} ${goQuote(name)}`, urlOf(get));
    if (!/^[\w!#$%&'*+\-.^`|~]+$/.test(name)) throw refuse("name");
    if (UNSENDABLE.test(value)) throw refuse("value for");
    text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}

/** Created once: it costs more than a request. */
const ANY_CERTIFICATE = createSecureContext();

/** TLS on top of a connection. The certificate is not verified. */
function secured(socket: Socket, host: string): Socket {
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectSecurely({ socket, secureContext: ANY_CERTIFICATE, rejectUnauthorized: false, ...name });
}

const refusal = ({ isBody, message }: BadResponse, get: HttpGet): ProbeError =>
  new ProbeError(isBody ? "body" : "answer", "theirs", message, urlOf(get));

function failure(thrown: unknown, get: HttpGet, head: AnswerHead | undefined): ProbeError {
  const error = systemError(thrown);
  const theirs = (detail: string) =>
    new ProbeError(head === undefined ? "answer" : "body", faultOf(error), detail, urlOf(get));
  if (get.scheme === "https" && NOT_TLS.has(error.code ?? "")) return theirs(PLAIN_ANSWER);
  return theirs(error.code === "ECONNRESET" ? `read: ${textOf(error)}` : textOf(error));
}
