/** How a call ended: with the server's status, or with the error that broke it. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from "node:http2";
import { boundedText } from "../../base/cut-text.ts";
import { GRPC_ERROR_BYTES_MAX } from "../limits.ts";
import { RPC_CODE, RpcError } from "./rpc-channel.ts";

export class CallEnd {
  /** Resolves when no more data arrives. */
  readonly closed: Promise<void>;
  readonly #stream: ClientHttp2Stream;
  readonly #session: ClientHttp2Session;
  readonly #isOurs: () => boolean;
  #headers: IncomingHttpHeaders & IncomingHttpStatusHeader = {};
  #trailers: IncomingHttpHeaders = {};
  #error: Error | undefined;

  /** `isOurs`: whether this side closed the connection. */
  constructor(stream: ClientHttp2Stream, session: ClientHttp2Session, isOurs: () => boolean) {
    this.#stream = stream;
    this.#session = session;
    this.#isOurs = isOurs;
    stream.on("response", (headers) => {
      this.#headers = headers;
    });
    stream.on("trailers", (trailers) => {
      this.#trailers = trailers;
    });
    // Without this listener an error would end the process.
    stream.on("error", (error: Error) => {
      this.#error = error;
    });
    this.closed = new Promise((resolve) => {
      if (stream.closed && stream.destroyed) resolve();
      else stream.once("close", resolve);
    });
  }

  /** For a closed call: undefined if the server reported success. */
  failure(): RpcError | undefined {
    // An answer without a body carries its status in the headers.
    const reported = this.#trailers["grpc-status"] === undefined ? this.#headers : this.#trailers;
    const status = reported["grpc-status"];
    if (status !== undefined) {
      const code = Number(status);
      if (code === 0) return undefined;
      const message = boundedText(plain(String(reported["grpc-message"] ?? "")), GRPC_ERROR_BYTES_MAX);
      return new RpcError(Number.isInteger(code) ? code : RPC_CODE.unknown, message);
    }
    if (this.#isOurs()) return new RpcError(RPC_CODE.cancelled, "the client was closed");
    const http = this.#headers[":status"];
    if (http !== undefined && http !== 200) return new RpcError(codeOfHttp(http), `HTTP status ${http}`);
    const detail = this.#error?.message ?? "the connection ended before the answer did";
    if (this.#session.destroyed || this.#session.closed) return new RpcError(RPC_CODE.unavailable, detail);
    return new RpcError(codeOfReset(this.#stream.rstCode ?? 0), detail);
  }
}

/** gRPC percent-encodes everything but printable ASCII. */
function plain(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message; // The server did not encode the message.
  }
}

function codeOfHttp(status: number): number {
  switch (status) {
    case 400:
      return RPC_CODE.internal;
    case 401:
      return RPC_CODE.unauthenticated;
    case 403:
      return RPC_CODE.permissionDenied;
    case 404:
      return RPC_CODE.unimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return RPC_CODE.unavailable;
    default:
      return RPC_CODE.unknown;
  }
}

function codeOfReset(code: number): number {
  switch (code) {
    case constants.NGHTTP2_REFUSED_STREAM:
    case constants.NGHTTP2_NO_ERROR:
      return RPC_CODE.unavailable;
    case constants.NGHTTP2_CANCEL:
      return RPC_CODE.cancelled;
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return RPC_CODE.resourceExhausted;
    case constants.NGHTTP2_INADEQUATE_SECURITY:
      return RPC_CODE.permissionDenied;
    default:
      return RPC_CODE.internal;
  }
}
