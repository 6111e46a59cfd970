/**
 * The attributes of a request to this node for its authorization: the parts of its path, a verb, subresources of the
 * node, and the client. Authorization and routing use the same parsed path. A path that could be read in two ways is
 * rejected.
 */

/** Decoded, without empty parts: "/exec/a/b" is exec, a, b; "/" has none. */
export type PathParts = readonly string[];

/** An encoded dot, slash, backslash or NUL has one meaning before decoding and another after it. */
const AMBIGUOUS = /%(?:2e|2f|5c|00)/i;
/** Backslash, "#" and control characters do not belong in a path, and some software treats a backslash as a slash. */
const FORBIDDEN = /[\\#\p{Cc}]/u;

/** Undefined: not a valid path. One trailing slash is not a part, and has no effect. */
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
    return undefined; // Incomplete percent-encoding, or bytes that are not UTF-8.
  }
}

const VERBS: ReadonlyMap<string, string> = new Map([
  ["GET", "get"],
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** Other methods have no verb: only clients that may do everything may use them. */
const verbOf = (method: string): string => VERBS.get(method) ?? "";

/** Subresources of the node to which access is granted separately. */
export type Subresource =
  | "proxy"
  | "stats"
  | "metrics"
  | "log"
  | "checkpoint"
  | "statusz"
  | "configz"
  | "pods"
  | "healthz";

const SUBRESOURCES: ReadonlyMap<string, readonly Subresource[]> = new Map([
  ["pods", ["pods", "proxy"]],
  ["runningpods", ["pods", "proxy"]],
  ["explain", ["pods", "proxy"]],
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

/** Each of them grants access. Unknown paths are as protected as the subresource that grants the most. */
export const subresourcesOf = ([first = ""]: PathParts): readonly Subresource[] => SUBRESOURCES.get(first) ?? ANY_OTHER;

const EXECUTES: ReadonlySet<string> = new Set(["exec", "attach", "portForward", "run"]);

/**
 * A WebSocket begins with a GET, and permission to read everything must not include running commands. Requests that
 * reach into a container therefore need "create" as well as the verb of their method.
 */
export function verbsOf(method: string, [first = ""]: PathParts): readonly string[] {
  const verb = verbOf(method);
  return EXECUTES.has(first) && verb !== "create" ? [verb, "create"] : [verb];
}

/** The client of a request to the node, as the authorizer gets it. */
export interface Caller {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const ANONYMOUS: Caller = {
  name: "system:anonymous",
  uid: "",
  groups: ["system:unauthenticated"],
  extra: {},
};

const AUTHENTICATED = "system:authenticated";

export const authenticated = (caller: Caller): Caller =>
  caller.groups.includes(AUTHENTICATED) ? caller : { ...caller, groups: [...caller.groups, AUTHENTICATED] };
