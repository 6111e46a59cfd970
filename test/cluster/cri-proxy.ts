/**
 * Stands between a node agent and its runtime: passes every CRI call on byte for byte, writes down what was asked and when, and lets a
 * test delay, refuse, hang or lose single calls. It lives in the test's process and ends with it.
 */
import { rm } from "node:fs/promises";
import { type DescMethod, fromBinary } from "@bufbuild/protobuf";
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
  /** The RPC's name, such as "StopContainer". */
  readonly method: string;
  /** The decoded request. */
  readonly request: unknown;
  /** The container or sandbox it is about, where it names one. */
  readonly id: string;
  readonly startedWallMs: number;
  /** Undefined while it is under way; a stream ends when either side ends it. */
  readonly endedWallMs: number | undefined;
  /** What the agent was told: a gRPC code. */
  readonly code: number | undefined;
  /** What the runtime answered, of a unary call that it answered well. */
  readonly answer: unknown;
}

/** Thrown or rejected with `{ code, details }`: what the agent is told instead of an answer. A promise that stays open is a hang. */
export interface CriHook {
  /** Before the runtime hears of the call. */
  readonly before?: (request: unknown) => void | Promise<void>;
  /** After the runtime has answered well; to fail here is to lose the reply. */
  readonly after?: (request: unknown) => void | Promise<void>;
}

export interface CriProxy {
  /** "unix:///..." */
  readonly endpoint: string;
  /** In the order they came. */
  readonly calls: readonly CriCall[];
  /** Until it is taken back. One per RPC. */
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
    // grpc-go servers refuse odd authorities, such as a socket's path.
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

/** What a hook threw, or what the runtime said, in a form the server can send. */
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
      return bytes;
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
