/** Puts a fake that is unaware of lives behind the port-calls wrapper. */
import type { CallDescription, Life } from "./port-calls.ts";

const NEVER = new AbortController().signal;

/** `names` are the calls to the world; everything else on the port is passed on unchanged. */
export function behindLife<T extends object>(
  life: Life,
  port: string,
  fake: T,
  names: readonly (keyof T & string)[],
  unanswered: (name: string, target: string) => Error = (name) => new Error(`${port}.${name}: no answer`),
): T {
  const wrapped = (name: string, method: (...args: unknown[]) => unknown) => {
    return (...args: unknown[]): Promise<unknown> => {
      const signal = args.find((each) => each instanceof AbortSignal) ?? NEVER;
      const target = targetOf(args[0]);
      const what: CallDescription = { port, name, target, unanswered: () => unanswered(name, target) };
      return life.call(what, signal, () => method.apply(fake, args));
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

/** The target of a call, from its first argument. */
function targetOf(first: unknown): string {
  if (typeof first === "string") return first;
  if (Array.isArray(first)) return first.join("/");
  if (typeof first !== "object" || first === null) return "";
  if ("target" in first) return String(first.target);
  return "host" in first ? String(first.host) : "";
}
