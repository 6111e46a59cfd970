/**
 * A proxy between a node agent and its runtime. It forwards every CRI call byte for byte and records request and times.
 * Tests can make single calls slow, fail, hang or lose their reply. It runs in the test's process and ends with it.
 */
import { rm } from "node:fs/promises";
import { type DescMethod, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import {
  Client,
  credentials,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { ImageService, RuntimeService } from "../../src/wire/cri/gen/api_pb.js";

export interface CriCall {
  /** Name of the RPC, such as "StopContainer". */
  readonly method: string;
  /** The decoded request. */
  readonly request: unknown;
  /** The container or sandbox id in the request; empty when there is none. */
  readonly id: string;
  readonly startedWallMs: number;
  /** Undefined while the call is in progress; a stream ends when either side ends it. */
  readonly endedWallMs: number | undefined;
  /** The gRPC code that the agent received. */
  readonly code: number | undefined;
  /** The runtime's decoded response to a successful unary call. */
  readonly answer: unknown;
}

/**
 * A hook that throws or rejects with `{ code, details }` sends this error to the agent instead of a response. A promise
 * that never settles is a hang.
 */
export interface CriHook {
  /** Runs before the call reaches the runtime. */
  readonly before?: (request: unknown) => void | Promise<void>;
  /** Runs after the runtime has responded without an error; an error here loses the reply. */
  readonly after?: (request: unknown) => void | Promise<void>;
  /** Returns the message that the agent gets in place of the runtime's decoded response. */
  readonly answer?: (answer: unknown) => unknown;
}

export interface CriProxy {
  /** "unix:///..." */
  readonly endpoint: string;
  /** In order of arrival. */
  readonly calls: readonly CriCall[];
  /** Installs a hook; the returned function removes it. One hook per RPC. */
  hook(method: string, hook: CriHook): () => void;
  close(): Promise<void>;
}

type Noted = { -readonly [K in keyof CriCall]: CriCall[K] };
type Handler = handleUnaryCall<Buffer, Buffer> | handleServerStreamingCall<Buffer, Buffer>;

const NO_LIMITS = { "grpc.max_send_message_length": -1, "grpc.max_receive_message_length": -1 } as const;

export async function startCriProxy(socket: string, runtimeEndpoint: string): Promise<CriProxy> {
  await rm(socket, { force: true });
  const calls: Noted[] = [];
  const hooks = new Map<string, CriHook>();
  const runtime = new Client(runtimeEndpoint, credentials.createInsecure(), {
    ...NO_LIMITS,
    // grpc-go servers reject unusual authorities, such as the path of a socket.
    "grpc.default_authority": "localhost",
    "grpc.initial_reconnect_backoff_ms": 50,
    "grpc.max_reconnect_backoff_ms": 500,
    "grpc.enable_retries": 0,
    "grpc.use_local_subchannel_pool": 1,
  });
  const server = new Server(NO_LIMITS);
  for (const service of [RuntimeService, ImageService]) {
    const definition: Record<string, ServiceDefinition[string]> = {};
    const handlers: Record<string, Handler> = {};
    for (const method of service.methods) {
      if (method.methodKind !== "unary" && method.methodKind !== "server_streaming") continue;
      definition[method.name] = bytesMethod(method);
      const pass = { method, runtime, hookOf: () => hooks.get(method.name), note: noter(method, calls) };
      handlers[method.name] = method.methodKind === "unary" ? passUnary(pass) : passStream(pass);
    }
    server.addService(definition, handlers);
  }
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  return {
    endpoint: `unix://${socket}`,
    calls,
    hook(method, hook) {
      hooks.set(method, hook);
      return () => hooks.delete(method);
    },
    async close() {
      server.forceShutdown();
      runtime.close();
      await rm(socket, { force: true });
    },
  };
}

interface Pass {
  readonly method: DescMethod;
  readonly runtime: Client;
  readonly hookOf: () => CriHook | undefined;
  readonly note: (bytes: Buffer) => Noted;
}

const asIs = (bytes: Buffer) => bytes;
const pathOf = (method: DescMethod) => `/${method.parent.typeName}/${method.name}`;

const bytesMethod = (method: DescMethod): ServiceDefinition[string] => ({
  path: pathOf(method),
  requestStream: false,
  responseStream: method.methodKind === "server_streaming",
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});

function noter(method: DescMethod, calls: Noted[]): Pass["note"] {
  return (bytes) => {
    const request = fromBinary(method.input, bytes) as object;
    const call: Noted = {
      method: method.name,
      request,
      id: idIn(request),
      startedWallMs: Date.now(),
      endedWallMs: undefined,
      code: undefined,
      answer: undefined,
    };
    calls.push(call);
    return call;
  };
}

function idIn(request: object): string {
  const { containerId, podSandboxId } = request as { readonly containerId?: string; readonly podSandboxId?: string };
  return containerId || podSandboxId || "";
}

function end(call: Noted, code: number, answer?: unknown): void {
  call.endedWallMs ??= Date.now();
  call.code ??= code;
  call.answer ??= answer;
}

/** Converts an error from a hook or from the runtime into a form that the server can send. */
const refusal = (error: unknown): Partial<ServiceError> => {
  const { code = status.UNKNOWN, details = String(error), metadata } = error as Partial<ServiceError>;
  return { code, details, ...(metadata === undefined ? {} : { metadata }) };
};

function passUnary({ method, runtime, hookOf, note }: Pass): handleUnaryCall<Buffer, Buffer> {
  return (call, reply) => {
    const noted = note(call.request);
    const hook = hookOf();
    const cancelled = new AbortController();
    call.on("cancelled", () => {
      end(noted, status.CANCELLED);
      cancelled.abort();
    });
    const work = async () => {
      await hook?.before?.(noted.request);
      const bytes = await ask(runtime, method, call.request, cancelled.signal);
      await hook?.after?.(noted.request);
      if (hook?.answer === undefined) return bytes;
      const answer = hook.answer(fromBinary(method.output, bytes)) as MessageShape<typeof method.output>;
      return Buffer.from(toBinary(method.output, answer));
    };
    work().then(
      (bytes) => {
        end(noted, status.OK, fromBinary(method.output, bytes));
        reply(null, bytes);
      },
      (error: unknown) => {
        end(noted, refusal(error).code ?? status.UNKNOWN);
        reply(refusal(error));
      },
    );
  };
}

const ask = (runtime: Client, method: DescMethod, request: Buffer, signal: AbortSignal) =>
  new Promise<Buffer>((resolve, reject) => {
    const call = runtime.makeUnaryRequest(pathOf(method), asIs, asIs, request, new Metadata(), (error, bytes) => {
      if (error !== null) reject(error);
      else resolve(bytes ?? Buffer.alloc(0));
    });
    if (signal.aborted) call.cancel();
    signal.addEventListener("abort", () => call.cancel(), { once: true });
  });

function passStream({ method, runtime, hookOf, note }: Pass): handleServerStreamingCall<Buffer, Buffer> {
  return (call) => {
    const noted = note(call.request);
    const begin = async () => {
      await hookOf()?.before?.(noted.request);
      const source = runtime.makeServerStreamRequest(pathOf(method), asIs, asIs, call.request, new Metadata());
      call.on("cancelled", () => source.cancel());
      source.on("data", (bytes: Buffer) => {
        if (!call.write(bytes)) {
          source.pause();
          call.once("drain", () => source.resume());
        }
      });
      source.on("end", () => {
        end(noted, status.OK);
        call.end();
      });
      source.on("error", (error: unknown) => {
        end(noted, refusal(error).code ?? status.UNKNOWN);
        call.emit("error", refusal(error));
      });
    };
    begin().catch((error: unknown) => {
      end(noted, refusal(error).code ?? status.UNKNOWN);
      call.emit("error", refusal(error));
    });
  };
}
