/**
 * A server that speaks the generated CRI messages and answers as a test defines, for answers that no real runtime can
 * be made to give.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
} from "@grpc/grpc-js";
import { ImageService, RuntimeService } from "../../src/wire/cri/gen/api_pb.js";

interface CallSeen {
  /** Aborts when the client cancels. */
  readonly cancelled: AbortSignal;
  readonly authority: string;
}

/** Bytes are sent unchanged, whatever they mean. A thrown `{ code, details }` is the status. */
type UnaryAnswer<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: CallSeen,
) => MessageInitShape<O> | Uint8Array | Promise<MessageInitShape<O> | Uint8Array>;
type StreamAnswer<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: CallSeen,
) => AsyncIterable<MessageInitShape<O>>;

type Answers<Methods> = {
  readonly [M in keyof Methods]?: Methods[M] extends DescMethodUnary<infer I, infer O>
    ? UnaryAnswer<I, O>
    : Methods[M] extends DescMethodServerStreaming<infer I, infer O>
      ? StreamAnswer<I, O>
      : never;
};

export type CriAnswers = Answers<typeof RuntimeService.method> & Answers<typeof ImageService.method>;

export interface CriServer {
  readonly endpoint: string;
  /** Names of the received calls, in order. */
  readonly calls: readonly string[];
  stop(): Promise<void>;
}

/** A directory for sockets that is removed after the test. */
export async function socketDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "cri-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export async function serveCri(t: TestContext, answers: CriAnswers, socket?: string): Promise<CriServer> {
  const endpoint = `unix://${socket ?? join(await socketDirectory(t), "cri.sock")}`;
  const server = new Server({ "grpc.max_send_message_length": -1, "grpc.max_receive_message_length": -1 });
  const calls: string[] = [];
  for (const service of [RuntimeService, ImageService]) {
    const definition: Record<string, ServiceDefinition[string]> = {};
    const handlers: Record<
      string,
      handleUnaryCall<Uint8Array, Uint8Array> | handleServerStreamingCall<Uint8Array, Uint8Array>
    > = {};
    for (const method of service.methods) {
      const answer = (answers as Readonly<Record<string, AnyAnswer | undefined>>)[method.localName];
      if (answer === undefined) continue;
      definition[method.name] = bytesMethod(method);
      handlers[method.name] =
        method.methodKind === "server_streaming"
          ? streamHandler(method, answer, calls)
          : unaryHandler(method, answer, calls);
    }
    if (Object.keys(definition).length > 0) server.addService(definition, handlers);
  }
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(endpoint, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  const stop = async () => server.forceShutdown();
  t.after(stop);
  return { endpoint, calls, stop };
}

type AnyAnswer = (request: unknown, call: CallSeen) => unknown;

const asBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const bytesMethod = (method: DescMethod): ServiceDefinition[string] => ({
  path: `/${method.parent.typeName}/${method.name}`,
  requestStream: false,
  responseStream: method.methodKind === "server_streaming",
  requestSerialize: asBuffer,
  requestDeserialize: (bytes) => bytes,
  responseSerialize: asBuffer,
  responseDeserialize: (bytes) => bytes,
});

const encode = (method: DescMethod, answer: unknown) =>
  answer instanceof Uint8Array
    ? answer
    : toBinary(method.output, create(method.output, answer as Record<string, unknown>));

function unaryHandler(method: DescMethod, answer: AnyAnswer, calls: string[]): handleUnaryCall<Uint8Array, Uint8Array> {
  return (call, reply) => {
    calls.push(method.name);
    const cancelled = new AbortController();
    call.on("cancelled", () => cancelled.abort());
    const seen = { cancelled: cancelled.signal, authority: call.getHost() };
    const work = async () => encode(method, await answer(fromBinary(method.input, call.request), seen));
    work().then(
      (bytes) => reply(null, bytes),
      (error: object) => reply(error),
    );
  };
}

function streamHandler(
  method: DescMethod,
  answer: AnyAnswer,
  calls: string[],
): handleServerStreamingCall<Uint8Array, Uint8Array> {
  return (call) => {
    calls.push(method.name);
    const cancelled = new AbortController();
    call.on("cancelled", () => cancelled.abort());
    const seen = { cancelled: cancelled.signal, authority: call.getHost() };
    const send = async () => {
      for await (const message of answer(fromBinary(method.input, call.request), seen) as AsyncIterable<unknown>) {
        if (cancelled.signal.aborted) return;
        call.write(encode(method, message));
      }
    };
    send().then(
      () => call.end(),
      (error: object) => call.emit("error", error),
    );
  };
}

/** Waits until the signal aborts. */
export const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
