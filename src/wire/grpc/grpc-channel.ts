/**
 * `RpcChannel` over grpc-js on a unix socket.
 *
 * Deadlines are the caller's (a signal), not grpc's. A call made while the other side is down fails at once with "unavailable";
 * the connection is tried again in the background, 0.1 s to 3 s apart.
 */
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client, type ClientReadableStream, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { RPC_CODE, type RpcChannel, RpcError } from "./rpc-channel.ts";

export interface GrpcChannelOptions {
  /** "unix:///path" */
  readonly endpoint: string;
  readonly messageBytesMax: number;
}

export function openGrpcChannel({ endpoint, messageBytesMax }: GrpcChannelOptions): RpcChannel {
  if (!endpoint.startsWith("unix:")) throw new Error(`not the address of a unix socket: ${endpoint}`);
  const client = new Client(endpoint, credentials.createInsecure(), {
    // grpc-go servers refuse odd authorities, such as a socket's path.
    "grpc.default_authority": "localhost",
    "grpc.max_receive_message_length": messageBytesMax,
    "grpc.max_send_message_length": messageBytesMax,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 3000,
    "grpc.enable_channelz": 0,
    // A rejected call may have taken effect; only the caller knows whether to try again.
    "grpc.enable_retries": 0,
    "grpc.service_config_disable_resolution": 1,
    // Connections are not shared with other channels, so that close() means this one.
    "grpc.use_local_subchannel_pool": 1,
    // No keepalive pings: a unix socket breaks at once when its other end dies, and grpc-go ends a connection that pings often.
  });
  const underWay = new Set<{ cancel(): void }>();
  let closed = false;

  return {
    unary: (method, request, signal) =>
      new Promise((resolve, reject) => {
        const bytes = prepare(closed, method, request, signal);
        const call = client.makeUnaryRequest(
          pathOf(method),
          asIs,
          (answer) => fromBinary(method.output, answer, READ),
          bytes,
          new Metadata(),
          (error, answer) => {
            underWay.delete(call);
            signal.removeEventListener("abort", onAbort);
            if (error !== null) reject(rpcError(error));
            else if (answer === undefined) reject(new RpcError(RPC_CODE.internal, "the call ended without an answer"));
            else resolve(answer);
          },
        );
        const onAbort = () => {
          call.cancel();
          reject(signal.reason);
        };
        underWay.add(call);
        signal.addEventListener("abort", onAbort, { once: true });
      }),

    serverStream: (method, request, signal) => {
      const bytes = prepare(closed, method, request, signal);
      const call = client.makeServerStreamRequest(
        pathOf(method),
        asIs,
        (answer) => fromBinary(method.output, answer, READ),
        bytes,
        new Metadata(),
      );
      underWay.add(call);
      return readStream(call, signal, () => underWay.delete(call));
    },

    close: () => {
      closed = true;
      for (const call of underWay) call.cancel();
      client.close();
    },
  };
}

/** What is not known is not kept: answers are translated at once and dropped. */
const READ = { readUnknownFields: false } as const;

const pathOf = (method: DescMethod) => `/${method.parent.typeName}/${method.name}`;
const asIs = (bytes: Buffer) => bytes;
const rpcError = ({ code, details }: ServiceError) => new RpcError(code, details);

/** The request's bytes, or the reason why the call is not made at all. */
function prepare<I extends DescMessage>(
  closed: boolean,
  method: DescMethod & { readonly input: I },
  request: MessageInitShape<I>,
  signal: AbortSignal,
): Buffer {
  signal.throwIfAborted();
  if (closed) throw new RpcError(RPC_CODE.unavailable, "the client is closed");
  try {
    const bytes = toBinary(method.input, create(method.input, request));
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  } catch (error) {
    throw new RpcError(
      RPC_CODE.invalidArgument,
      error instanceof Error ? error.message : "the request cannot be encoded",
    );
  }
}

/** The stream's messages under back-pressure. Its errors and the abort are listened to before anyone reads. */
function readStream<T>(
  call: ClientReadableStream<T> & AsyncIterable<T>,
  signal: AbortSignal,
  ended: () => void,
): AsyncIterable<T> {
  let failure: ServiceError | undefined;
  const onAbort = () => {
    call.cancel();
    call.destroy();
  };
  const unlink = () => {
    ended();
    signal.removeEventListener("abort", onAbort);
  };
  // Without this listener an error would end the process; it also comes when we cancel.
  call.on("error", (error: ServiceError) => {
    failure ??= error;
    unlink();
  });
  signal.addEventListener("abort", onAbort, { once: true });

  return (async function* () {
    try {
      for await (const message of call) yield message;
      signal.throwIfAborted();
      if (failure !== undefined) throw failure;
    } catch (error) {
      signal.throwIfAborted();
      throw failure === undefined ? error : rpcError(failure);
    } finally {
      call.cancel();
      unlink();
    }
  })();
}
