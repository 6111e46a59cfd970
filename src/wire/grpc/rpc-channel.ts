/**
 * A gRPC server as the adapters see it. The interface is small on purpose: the transport can be replaced without
 * changing an adapter.
 */
import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";

/** Headers to send with a call, and callbacks for its messages. */
export interface CallNotes {
  /** Keyed by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called for each message sent or received, with its length without the frame. */
  onSent(bytes: number): void;
  onReceived(bytes: number): void;
}

export interface RpcChannel {
  /**
   * Rejects with an `RpcError`, or with the signal's reason as soon as it aborts; an abort cancels the call on the
   * wire.
   */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
    notes?: CallNotes,
  ): Promise<MessageShape<O>>;
  /**
   * The call is sent before this returns. Messages are read from the connection as the caller consumes them. Leaving
   * the loop cancels the call, and so does the signal, which makes the loop throw its reason. Iterate it only once.
   */
  serverStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
    notes?: CallNotes,
  ): AsyncIterable<MessageShape<O>>;
  /** Cancels calls in progress and makes every later call fail. */
  close(): void;
}

/** How a call failed: gRPC's status code and message. Contains nothing of the request. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  constructor(code: number, detail: string) {
    super(detail);
    this.code = code;
  }
}

/** The gRPC status codes that this side also produces. */
export const RPC_CODE = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;
