/**
 * The authorization rules of a node's API, taken from the list of behaviors (rows 20.1 to 20.3) and not from the code
 * under test: paths with their subresources, and the permissions of identities.
 */
export type Guard = "proxy" | "stats" | "metrics" | "log" | "checkpoint" | "statusz" | "configz" | "pods" | "healthz";

/** Access to any one of `guards` is sufficient. `executes`: "create" is required as well. */
export interface GuardedPath {
  readonly path: string;
  readonly guards: readonly Guard[];
  readonly executes: boolean;
}

const guarded = (guards: readonly Guard[], ...paths: readonly string[]): readonly GuardedPath[] =>
  paths.map((path) => ({ path, guards, executes: false }));
const executing = (...paths: readonly string[]): readonly GuardedPath[] =>
  paths.map((path) => ({ path, guards: ["proxy"], executes: true }));

export const GUARDED_PATHS: readonly GuardedPath[] = [
  ...guarded(["stats"], "/stats/summary", "/stats/summary?only_cpu_and_memory=true", "/stats/nothing"),
  ...guarded(["metrics"], "/metrics", "/metrics/cadvisor", "/metrics/resource", "/metrics/probes", "/metrics/slis"),
  ...guarded(["log"], "/logs/", "/logs/messages"),
  ...guarded(["checkpoint"], "/checkpoint/default/none/c"),
  ...guarded(["statusz"], "/statusz"),
  ...guarded(["configz"], "/flagz"),
  ...guarded(["pods", "proxy"], "/pods", "/pods/", "/runningpods/", "/runningpods"),
  ...guarded(["healthz", "proxy"], "/healthz", "/healthz/ping", "/healthz/syncloop", "/healthz/nothing"),
  ...guarded(["configz", "proxy"], "/configz"),
  ...guarded(["proxy"], "/containerLogs/default/none/c", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/flags/v"),
  ...guarded(["proxy"], "/", "/nothing", "/podsx", "/Pods", "/api/v1/nodes", "/pods;x=1", "/metricsx/cadvisor"),
  ...executing("/exec/default/none/c", "/exec/default/none/u/c", "/exec", "/attach/default/none/c"),
  ...executing("/portForward/default/none", "/portForward/default/none/u", "/run/default/none/c"),
];

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

const VERBS: Readonly<Record<string, string>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** The verbs that an identity may use ("*" for all) on the listed subresources of the node. */
export interface Grant {
  readonly verbs: readonly string[];
  readonly guards: readonly Guard[];
}

export function isGranted(grant: Grant, { guards, executes }: GuardedPath, method: string): boolean {
  const isOpen = guards.some((guard) => grant.guards.includes(guard));
  const may = (verb: string) => grant.verbs.includes("*") || (verb !== "" && grant.verbs.includes(verb));
  return isOpen && may(VERBS[method] ?? "") && (!executes || may("create"));
}
