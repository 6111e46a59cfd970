/** Matches paths to routes. Literal parts take precedence over named ones, and named ones over "*". */
import { BugError } from "../base/assert.ts";
import { jsonEqual } from "../base/json-equal.ts";
import { type PathParts, subresourcesOf } from "../domain/server/node-request.ts";
import { HttpError, type Method, type Route } from "./route.ts";

export interface Match {
  readonly route: Route;
  readonly parts: Readonly<Record<string, string>>;
}

const REST = "*";

/** The parts of a request's path, and whether it ends in a slash. */
export interface Place {
  readonly path: PathParts;
  readonly endsInSlash: boolean;
}

interface Directory {
  readonly parts: PathParts;
  readonly needsSlash: boolean;
}

/**
 * Prefixes below which the Go kubelet's handlers reject requests in their own words. A prefix with a trailing slash is
 * reached only with that slash. Any other path must match exactly.
 */
const DIRECTORIES: readonly Directory[] = [
  "/pods",
  "/run",
  "/exec",
  "/attach",
  "/portForward",
  "/containerLogs",
  "/runningpods/",
  "/stats/",
  "/checkpoint/",
  "/logs/",
  "/debug/pprof/",
].map((name) => ({ parts: name.split("/").filter((part) => part !== ""), needsSlash: name.endsWith("/") }));

const isIn = ({ parts }: Directory, path: PathParts) => parts.every((part, index) => path[index] === part);

interface Pattern {
  readonly route: Route;
  readonly steps: readonly string[];
}

export class Router {
  readonly #patterns: readonly Pattern[];

  constructor(routes: readonly Route[]) {
    this.#patterns = routes
      .map((route) => ({ route, steps: route.path.split("/").filter((step) => step !== "") }))
      .toSorted((a, b) => rank(a).localeCompare(rank(b)));
    for (const { route, steps } of this.#patterns) {
      // Access is decided by the path alone. A route that declares other subresources would not be protected as it
      // declares.
      if (jsonEqual(route.subresources, subresourcesOf(steps))) continue;
      throw new BugError(`${route.path} is guarded by ${subresourcesOf(steps).join(", ")}`);
    }
  }

  /** All routes for the path, whatever the method; the most specific first. */
  at(path: PathParts): readonly Match[] {
    return this.#patterns.flatMap(({ route, steps }) => {
      const parts = matched(steps, path);
      return parts === undefined ? [] : [{ route, parts }];
    });
  }

  /** Whether the prefix contains an enabled route. */
  hasIn(directory: Directory, isOpen: (route: Route) => boolean): boolean {
    return this.#patterns.some(({ route, steps }) => isOpen(route) && isIn(directory, steps));
  }
}

export const forMethod = (matches: readonly Match[], method: string): Match | undefined =>
  matches.find(({ route }) => (route.methods as readonly string[]).includes(method));

const methodsOf = (matches: readonly Match[]): readonly Method[] => [
  ...new Set(matches.flatMap(({ route }) => route.methods)),
];

/** The path exists, but not for this method. */
export class MethodNotAllowed extends HttpError {
  readonly allow: string;
  constructor(allow: string) {
    super(405, "405: Method Not Allowed");
    this.allow = allow;
  }
}

/** The path exists with a trailing slash. */
export class SlashMissing extends HttpError {
  readonly location: string;
  constructor(path: PathParts) {
    super(307, "");
    this.location = `/${path.join("/")}/`;
  }
}

/** Throws a redirect if the path is a prefix without its trailing slash. */
export function requireSlash({ path, endsInSlash }: Place): void {
  const isBare = DIRECTORIES.some(
    (directory) => directory.needsSlash && directory.parts.length === path.length && isIn(directory, path),
  );
  if (isBare && !endsInSlash) throw new SlashMissing(path);
}

/** The enabled route for the path and method. Throws the `HttpError` to answer with. */
export function routeAt(router: Router, place: Place, method: string, isOpen: (route: Route) => boolean): Match {
  const { path, endsInSlash } = place;
  const directory = DIRECTORIES.find((one) => isIn(one, path) && router.hasIn(one, isOpen));
  if (directory !== undefined) requireSlash(place);
  const matches = directory === undefined && endsInSlash ? [] : router.at(path).filter(({ route }) => isOpen(route));
  if (matches.length === 0) {
    throw new HttpError(404, directory === undefined ? "404 page not found\n" : "404: Page Not Found");
  }
  const match = forMethod(matches, method);
  if (match === undefined) throw new MethodNotAllowed(methodsOf(matches).join(", "));
  return match;
}

/** Sorts literal parts before named parts before "*", part by part. */
const rank = ({ steps }: Pattern): string =>
  steps.map((step) => (step === REST ? "2" : isNamed(step) ? "1" : "0")).join("");

const isNamed = (step: string) => step.startsWith("{") && step.endsWith("}");

function matched(steps: readonly string[], path: PathParts): Readonly<Record<string, string>> | undefined {
  const open = steps.at(-1) === REST;
  const fixed = open ? steps.slice(0, -1) : steps;
  if (open ? path.length < fixed.length : path.length !== fixed.length) return undefined;
  const named: [string, string][] = [];
  for (const [index, step] of fixed.entries()) {
    const part = path[index] ?? "";
    if (isNamed(step)) named.push([step.slice(1, -1), part]);
    else if (step !== part) return undefined;
  }
  if (open) named.push([REST, path.slice(fixed.length).join("/")]);
  return Object.fromEntries(named);
}
