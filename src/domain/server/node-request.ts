/**
 * What a request to this node is about, as those who decide upon access see it: the parts of its path, a verb, and subresources of the
 * node. There is one reading of a path, which the decision and the routes both use; a path that could be read in two ways is no path.
 */
import type { Subresource } from "./subresource.ts";

/** Decoded, without empty ones: "/exec/a/b" is exec, a, b; "/" has none. */
export type PathParts = readonly string[];

/** An encoded dot, slash, backslash or NUL says one thing before it is decoded and another after. */
const AMBIGUOUS = /%(?:2e|2f|5c|00)/i;
/** Neither has a place in a path, and some take the one for a slash. */
const FORBIDDEN = /[\\#\p{Cc}]/u;

/** Undefined: not to be taken for a path. One slash at its end is not among the parts: it opens nothing. */
export function parsePath(path: string): PathParts | undefined {
  if (!path.startsWith("/") || AMBIGUOUS.test(path) || FORBIDDEN.test(path)) return undefined;
  const written = path.slice(1).split("/");
  if (written.at(-1) === "") written.pop();
  const parts = written.map(decoded);
  return parts.every((part) => part !== undefined) ? parts : undefined;
}

function decoded(written: string): string | undefined {
  if (written === "" || written === "." || written === "..") return undefined;
  try {
    const part = decodeURIComponent(written);
    return FORBIDDEN.test(part) ? undefined : part;
  } catch {
    return undefined; // A percent sign without its two digits, or bytes that are no UTF-8.
  }
}

const VERBS: ReadonlyMap<string, string> = new Map([
  ["GET", "get"],
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** Other methods have none: only who may do everything may use them. */
const verbOf = (method: string): string => VERBS.get(method) ?? "";

const SUBRESOURCES: ReadonlyMap<string, readonly Subresource[]> = new Map([
  ["pods", ["pods", "proxy"]],
  ["runningpods", ["pods", "proxy"]],
  ["healthz", ["healthz", "proxy"]],
  ["configz", ["configz", "proxy"]],
  ["stats", ["stats"]],
  ["metrics", ["metrics"]],
  ["logs", ["log"]],
  ["checkpoint", ["checkpoint"]],
  ["statusz", ["statusz"]],
  ["flagz", ["configz"]],
]);
const ANY_OTHER: readonly Subresource[] = ["proxy"];

/** Any of them gives access. What nobody knows is as guarded as what gives the most. */
export const subresourcesOf = ([first = ""]: PathParts): readonly Subresource[] => SUBRESOURCES.get(first) ?? ANY_OTHER;

const EXECUTES: ReadonlySet<string> = new Set(["exec", "attach", "portForward", "run"]);

/**
 * A WebSocket begins with a GET, and who may read everything may not therefore run everything. So what reaches into a container needs
 * "create" as well as the verb of its method, whatever that is.
 */
export function verbsOf(method: string, [first = ""]: PathParts): readonly string[] {
  const verb = verbOf(method);
  return EXECUTES.has(first) && verb !== "create" ? [verb, "create"] : [verb];
}
