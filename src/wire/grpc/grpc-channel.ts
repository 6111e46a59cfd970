/**
 * `RpcChannel` over unencrypted HTTP/2: calls with one request, and one answer or a stream of answers. This is all of
 * gRPC that a kubelet's client side needs, at half the CPU of a general client (docs/decisions/0003).
 *
 * Deadlines are the caller's (a signal), not gRPC's. There is one connection, opened by the first call that finds none.
 * A unix socket answers or refuses at once: while the server is down a call fails immediately with "unavailable", and
 * the next call connects again. Over a network a connection may hang: callers there close the channel after a call
 * without an answer, and open another.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { CallEnd } from "./call-end.ts";
import { connectAddress } from "./connect-address.ts";
import { FRAME_HEAD_BYTES, FrameReader, frame } from "./frames.ts";
import { authorityOf, type GrpcAddress, parseGrpcAddress } from "./grpc-address.ts";
import { type CallNotes, RPC_CODE, type RpcChannel, RpcError } from "./rpc-channel.ts";
import { UnaryAnswer } from "./unary-answer.ts";

export interface GrpcChannelOptions {
  /** "unix:///path", "host:port" */
  readonly endpoint: string;
  readonly messageBytesMax: number;
}

interface BegunCall {
  readonly stream: ClientHttp2Stream;
  readonly end: CallEnd;
}

/** Large enough for a few large messages at once; a session above it refuses new calls. */
const SESSION_MEGABYTES_MAX = 256;

export function openGrpcChannel({ endpoint, messageBytesMax }: GrpcChannelOptions): RpcChannel {
  const address = parseGrpcAddress(endpoint);
  const authority = authorityOf(address);
  let session: ClientHttp2Session | undefined;
  let closed = false;

  const connected = (): ClientHttp2Session => {
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    session = openSession(address);
    return session;
  };

  /** Sends the call, or throws the reason why it cannot be sent. */
  const begin = <I extends DescMessage>(
    method: DescMethod & { readonly input: I },
    request: MessageInitShape<I>,
    signal: AbortSignal,
    notes: CallNotes | undefined,
  ): BegunCall => {
    signal.throwIfAborted();
    if (closed) throw new RpcError(RPC_CODE.unavailable, "the client is closed");
    const bytes = encode(method, request, messageBytesMax);
    const used = connected();
    const stream = used.request({
      ...notes?.headers,
      ":method": "POST",
      ":authority": authority,
      ":path": `/${method.parent.typeName}/${method.name}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const end = new CallEnd(stream, used, () => closed);
    stream.end(bytes);
    notes?.onSent(bytes.length - FRAME_HEAD_BYTES);
    return { stream, end };
  };

  return {
    unary: async (method, request, signal, notes) => {
      const message = await readAnswer(begin(method, request, signal, notes), messageBytesMax, signal, notes);
      return decode(method, message);
    },

    serverStream: (method, request, signal, notes) => {
      const { stream, end } = begin(method, request, signal, notes);
      const read = (message: Buffer) => {
        notes?.onReceived(message.length);
        return decode(method, message);
      };
      return readStream(stream, end, new FrameReader(messageBytesMax), read, signal);
    },

    close: () => {
      closed = true;
      session?.destroy();
    },
  };
}

function openSession(address: GrpcAddress): ClientHttp2Session {
  const session = connect("http://localhost", {
    createConnection: () => connectAddress(address),
    maxSessionMemory: SESSION_MEGABYTES_MAX,
    settings: { enablePush: false },
  });
  // An error that breaks the session also breaks its calls, and they report it.
  session.on("error", () => {});
  return session;
}

function encode<I extends DescMessage>(
  method: DescMethod & { readonly input: I },
  request: MessageInitShape<I>,
  bytesMax: number,
): Buffer {
  let bytes: Uint8Array;
  try {
    bytes = toBinary(method.input, create(method.input, request));
  } catch (error) {
    const detail = error instanceof Error ? error.message : "the request cannot be encoded";
    throw new RpcError(RPC_CODE.invalidArgument, detail);
  }
  if (bytes.length <= bytesMax) return frame(bytes);
  throw new RpcError(RPC_CODE.resourceExhausted, `a request of ${bytes.length} bytes exceeds the limit of ${bytesMax}`);
}

/** Unknown fields are not kept: answers are translated at once and dropped. */
const READ = { readUnknownFields: false } as const;

function decode<O extends DescMessage>(method: DescMethod & { readonly output: O }, message: Buffer) {
  try {
    return fromBinary(method.output, message, READ);
  } catch (error) {
    throw new RpcError(RPC_CODE.internal, error instanceof Error ? error.message : "the answer cannot be read");
  }
}

/** Reads the single message of a unary answer. */
function readAnswer(
  { stream, end }: BegunCall,
  bytesMax: number,
  signal: AbortSignal,
  notes: CallNotes | undefined,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const answer = new UnaryAnswer(bytesMax);
  const onAbort = () => {
    stream.close(constants.NGHTTP2_CANCEL);
    reject(signal.reason);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  stream.on("data", (chunk: Buffer) => {
    try {
      answer.read(chunk);
    } catch (error) {
      reject(error);
      stream.close(constants.NGHTTP2_CANCEL);
    }
  });
  stream.on("close", () => {
    signal.removeEventListener("abort", onAbort);
    const failure = end.failure();
    const { message } = answer;
    if (message !== undefined) notes?.onReceived(message.length);
    if (failure !== undefined) reject(failure);
    else if (message === undefined) reject(new RpcError(RPC_CODE.internal, "the call ended without an answer"));
    else resolve(message);
  });
  return promise;
}

/** The stream's messages, with back-pressure. The abort listener is added before anyone reads. */
function readStream<T>(
  stream: ClientHttp2Stream,
  end: CallEnd,
  reader: FrameReader,
  read: (message: Buffer) => T,
  signal: AbortSignal,
): AsyncIterable<T> {
  const onAbort = () => stream.close(constants.NGHTTP2_CANCEL);
  signal.addEventListener("abort", onAbort, { once: true });
  stream.once("close", () => signal.removeEventListener("abort", onAbort));

  return (async function* () {
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        for (const message of reader.read(chunk)) yield read(message);
      }
    } catch (error) {
      signal.throwIfAborted();
      // An `RpcError` comes from decoding. Any other error broke the stream, and the call's end explains it.
      if (error instanceof RpcError) throw error;
    } finally {
      stream.close(constants.NGHTTP2_CANCEL);
    }
    signal.throwIfAborted();
    await end.closed;
    const failure = end.failure();
    if (failure !== undefined) throw failure;
  })();
}
