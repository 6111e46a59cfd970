/**
 * One party reached by gRPC, as the adapters above see it. Small on purpose: the transport below can be exchanged without an
 * adapter knowing.
 */
import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";

/** What goes along with a call, and who is told of its messages. */
export interface CallNotes {
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of each message that went out, or came in: its length, without its frame. */
  onSent(bytes: number): void;
  onReceived(bytes: number): void;
}

export interface RpcChannel {
  /** Rejects with an `RpcError`, or with the signal's reason as soon as it aborts; an abort cancels the call on the wire. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
    notes?: CallNotes,
  ): Promise<MessageShape<O>>;
  /**
   * The call is on its way when this returns. Messages are taken from the wire as they are read; leaving the loop cancels the
   * call, and so does the signal, which makes the loop throw its reason. To be iterated once.
   */
  serverStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
    notes?: CallNotes,
  ): AsyncIterable<MessageShape<O>>;
  /** Breaks what is under way and makes every later call fail. */
  close(): void;
}

/** How a call failed: the number and text that gRPC gave. Holds nothing of the request. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  constructor(code: number, detail: string) {
    super(detail);
    this.code = code;
  }
}

/** The numbers of gRPC that are made on this side too. */
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
