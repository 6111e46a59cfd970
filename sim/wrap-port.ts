/** Puts a fake that knows nothing of lives behind the port-calls wrapper. */
import type { CallDescription, Life } from "./port-calls.ts";

const NEVER = new AbortController().signal;

/** `names` are the calls that are made of the world; whatever else the port has is handed on as it is. */
export function behindLife<T extends object>(
  life: Life,
  port: string,
  fake: T,
  names: readonly (keyof T & string)[],
): T {
  const wrapped = (name: string, method: (...args: unknown[]) => unknown) => {
    return (...args: unknown[]): Promise<unknown> => {
      const signal = args.find((each) => each instanceof AbortSignal) ?? NEVER;
      return life.call(describe(port, name, args[0]), signal, () => method.apply(fake, args));
    };
  };
  return new Proxy(fake, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function") return member;
      const method = member as (...args: unknown[]) => unknown;
      return names.some((name) => name === key) ? wrapped(String(key), method) : method.bind(target);
    },
  });
}

const describe = (port: string, name: string, first: unknown): CallDescription => ({
  port,
  name,
  target: Array.isArray(first) ? first.join("/") : typeof first === "string" ? first : "",
  unanswered: () => new Error(`${port}.${name}: no answer`),
});
