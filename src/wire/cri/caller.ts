/**
 * How all CRI methods in this directory call the runtime: with a deadline from the Clock port, and with errors
 * translated to the port's codes. An answer is translated completely or rejected.
 */
import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { DeadlineError, withDeadline } from "../../concurrency/deadline.ts";
import type { Clock } from "../../ports/clock.ts";
import { isRuntimeError, RuntimeError } from "../../ports/runtime-error.ts";
import type { RpcChannel } from "../grpc/rpc-channel.ts";
import { runtimeError } from "./errors.ts";
import { Malformed } from "./parse.ts";

export interface Caller {
  readonly channel: RpcChannel;
  readonly clock: Clock;
  /** The deadline of each call. */
  readonly requestLimitMs: number;
  readonly streamLists: boolean;
  /** Streaming lists for which this runtime answered "unimplemented", by method name. They are not tried again. */
  readonly unaryOnly: Set<string>;
  readonly onMalformed: (detail: string) => void;
}

/** The same caller with a different deadline. */
export const withLimit = (caller: Caller, requestLimitMs: number): Caller => ({ ...caller, requestLimitMs });

/** A unary call whose answer `read` translates. */
export async function call<I extends DescMessage, O extends DescMessage, T>(
  { channel, clock, requestLimitMs }: Caller,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  signal: AbortSignal,
  read: (answer: MessageShape<O>) => T,
): Promise<T> {
  const ask = (s: AbortSignal) => channel.unary(method, request, s);
  return bounded(clock, method.name, requestLimitMs, signal, async (s) => read(await ask(s)));
}

/** Runs one operation under its deadline and translates a failure to the port's error. */
async function bounded<T>(
  clock: Clock,
  operation: string,
  limitMs: number,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await (limitMs === NO_LIMIT ? run(signal) : withDeadline(clock, limitMs, signal, run));
  } catch (error) {
    if (signal.aborted && error === signal.reason) throw error;
    if (error instanceof DeadlineError) throw new RuntimeError(operation, "deadlineExceeded", error.message);
    throw runtimeError(operation, error);
  }
}

/** For calls that only the caller's signal ends. */
export const NO_LIMIT = Number.POSITIVE_INFINITY;

/** Stopping or removing an object that no longer exists succeeds, even if the runtime answers "not found". */
export async function unlessGone(call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isRuntimeError(error, "notFound")) throw error;
  }
}

export const nothing = (): void => {};

interface ListCall<
  UI extends DescMessage,
  UO extends DescMessage,
  SI extends DescMessage,
  SO extends DescMessage,
  M,
  T,
> {
  readonly unary: DescMethodUnary<UI, UO>;
  readonly unaryRequest: MessageInitShape<UI>;
  readonly unaryItems: (answer: MessageShape<UO>) => readonly M[];
  readonly stream: DescMethodServerStreaming<SI, SO>;
  readonly streamRequest: MessageInitShape<SI>;
  readonly streamItems: (answer: MessageShape<SO>) => readonly M[];
  readonly translate: (item: M) => T;
  readonly idOf: (item: T) => string;
}

/**
 * Lists objects, with the streaming call if `streamLists` is set and the runtime implements it. Malformed and duplicate
 * items are left out and reported.
 */
export async function list<
  UI extends DescMessage,
  UO extends DescMessage,
  SI extends DescMessage,
  SO extends DescMessage,
  M,
  T,
>(caller: Caller, calls: ListCall<UI, UO, SI, SO, M, T>, signal: AbortSignal): Promise<readonly T[]> {
  const { clock, channel, requestLimitMs, unaryOnly } = caller;
  const { unary, stream } = calls;
  if (caller.streamLists && !unaryOnly.has(stream.name)) {
    const streamed = bounded(clock, stream.name, requestLimitMs, signal, async (s) => {
      const items: M[] = [];
      for await (const part of channel.serverStream(stream, calls.streamRequest, s)) {
        for (const item of calls.streamItems(part)) items.push(item);
      }
      return items;
    });
    try {
      return wellFormed(stream.name, await streamed, calls, caller.onMalformed);
    } catch (error) {
      if (!isRuntimeError(error, "unimplemented")) throw error;
      unaryOnly.add(stream.name);
    }
  }
  const items = await call(caller, unary, calls.unaryRequest, signal, calls.unaryItems);
  return wellFormed(unary.name, items, calls, caller.onMalformed);
}

function wellFormed<M, T>(
  operation: string,
  items: readonly M[],
  { translate, idOf }: { readonly translate: (item: M) => T; readonly idOf: (item: T) => string },
  onMalformed: (detail: string) => void,
): readonly T[] {
  const found = new Map<string, T>();
  for (const item of items) {
    try {
      const translated = translate(item);
      const id = idOf(translated);
      if (found.has(id)) throw new Malformed(`${id} is listed twice`);
      found.set(id, translated);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      onMalformed(`${operation}: ${error.message}`);
    }
  }
  return [...found.values()];
}
