/**
 * Observes the calls of an agent's ports: which of its modules calls what. The caller is read from the stack, so that
 * no table of callers needs maintenance. Calls pass through unchanged.
 */
import type { KubeletPorts } from "../src/app/wiring.ts";
import type { ApiServer } from "../src/ports/api-server.ts";

export interface ObservedCall {
  readonly port: string;
  readonly method: string;
  readonly args: readonly unknown[];
  /** The calling module below src/controllers, such as "pod-workers/execute"; "" when no controller is on the stack. */
  readonly caller: string;
}

export interface PortSpy {
  readonly called: (call: ObservedCall) => void;
  readonly answered: (call: ObservedCall, answer: unknown) => void;
  /** Called for each value of a stream. */
  readonly streamed: (call: ObservedCall, value: unknown) => void;
}

/** Observes the ports whose calls reach the world. */
export function spyOnPorts(ports: KubeletPorts, spy: PortSpy): KubeletPorts {
  const on = <T extends object>(port: string, target: T): T => observeCalls(port, target, spy);
  return {
    ...spyOnApi(ports, spy),
    files: on("files", ports.files),
    mounts: on("mounts", ports.mounts),
    runtime: on("runtime", ports.runtime),
    images: on("images", ports.images),
    cgroups: (driver) => {
      const { pods, machine } = ports.cgroups(driver);
      return { pods: on("cgroups", pods), machine: on("cgroups", machine) };
    },
  };
}

/** Observes the API server's ports only, for long runs: each observed call costs a stack trace. */
export function spyOnApi(ports: KubeletPorts, spy: PortSpy): KubeletPorts {
  const { api } = ports;
  if (api === undefined) return ports;
  const on = (server: ApiServer) => observeCalls("api", server, spy);
  return {
    ...ports,
    api: { ...api, main: on(api.main), heartbeats: on(api.heartbeats), events: on(api.events) },
  };
}

function observeCalls<T extends object>(port: string, target: T, { called, answered, streamed }: PortSpy): T {
  const observed = (method: string, args: readonly unknown[], run: () => unknown): unknown => {
    const call = { port, method, args, caller: callerOf(stack()) };
    called(call);
    const result = run();
    if (isStream(result)) return forward(result, (value) => streamed(call, value));
    if (!(result instanceof Promise)) return result;
    // The agent gets the original promise, so that its continuations run in the original order.
    result.then(
      (answer: unknown) => answered(call, answer),
      () => undefined,
    );
    return result;
  };
  return new Proxy(target, {
    get: (object, key) => {
      const member: unknown = Reflect.get(object, key, object);
      if (typeof member !== "function") return member;
      const method = member as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => observed(String(key), args, () => method.apply(object, args));
    },
  });
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

async function* forward(stream: AsyncIterable<unknown>, seen: (value: unknown) => void): AsyncGenerator {
  for await (const value of stream) {
    seen(value);
    yield value;
  }
}

const FRAMES_MAX = 40;

function stack(): string {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES_MAX;
  try {
    return new Error("stack of the caller").stack ?? "";
  } finally {
    Error.stackTraceLimit = before;
  }
}

/** The innermost controller on a stack. */
const callerOf = (stack: string): string =>
  /\/src\/controllers\/(?<module>[a-z-]+\/[a-z-]+)\.ts/.exec(stack)?.groups?.["module"] ?? "";
