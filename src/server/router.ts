/** Which route a path means. Exact parts come before named ones, and named ones before "whatever follows". */
import { BugError } from "../base/assert.ts";
import { jsonEqual } from "../base/json-equal.ts";
import { type PathParts, subresourcesOf } from "../domain/server/node-request.ts";
import { type Method, Refusal, type Route } from "./route.ts";

export interface Match {
  readonly route: Route;
  readonly parts: Readonly<Record<string, string>>;
}

const REST = "*";

/** Where a request goes: the parts of its path, and whether a slash ends it. */
export interface Place {
  readonly path: PathParts;
  readonly endsInSlash: boolean;
}

interface Folder {
  readonly parts: PathParts;
  readonly needsSlash: boolean;
}

/**
 * What is below these is theirs to refuse, in their words; those that are written with a slash are reached by it only. Everything else is a
 * page, found by its own name alone.
 */
const FOLDERS: readonly Folder[] = [
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

const isIn = ({ parts }: Folder, path: PathParts) => parts.every((part, index) => path[index] === part);

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
      // Access is decided by the path alone. A route that thinks otherwise would be guarded otherwise than it says.
      if (jsonEqual(route.subresources, subresourcesOf(steps))) continue;
      throw new BugError(`${route.path} is guarded by ${subresourcesOf(steps).join(", ")}`);
    }
  }

  /** Every route at the path, whatever the method; the most exact first. */
  at(path: PathParts): readonly Match[] {
    return this.#patterns.flatMap(({ route, steps }) => {
      const parts = matched(steps, path);
      return parts === undefined ? [] : [{ route, parts }];
    });
  }

  /** Whether anything that is open is in the folder. */
  hasIn(folder: Folder, isOpen: (route: Route) => boolean): boolean {
    return this.#patterns.some(({ route, steps }) => isOpen(route) && isIn(folder, steps));
  }
}

export const forMethod = (matches: readonly Match[], method: string): Match | undefined =>
  matches.find(({ route }) => (route.methods as readonly string[]).includes(method));

const methodsOf = (matches: readonly Match[]): readonly Method[] => [
  ...new Set(matches.flatMap(({ route }) => route.methods)),
];

/** Something is there, but not for this method. */
export class MethodRefusal extends Refusal {
  readonly allow: string;
  constructor(allow: string) {
    super(405, "405: Method Not Allowed");
    this.allow = allow;
  }
}

/** It is there, under its name with a slash. */
export class SlashMissing extends Refusal {
  readonly location: string;
  constructor(path: PathParts) {
    super(307, "");
    this.location = `/${path.join("/")}/`;
  }
}

/** Throws the way to a folder that is asked for without its slash. */
export function requireSlash({ path, endsInSlash }: Place): void {
  const isBare = FOLDERS.some(
    (folder) => folder.needsSlash && folder.parts.length === path.length && isIn(folder, path),
  );
  if (isBare && !endsInSlash) throw new SlashMissing(path);
}

/** The route for the place and method among those that are open. Throws the refusal to answer with. */
export function routeAt(router: Router, place: Place, method: string, isOpen: (route: Route) => boolean): Match {
  const { path, endsInSlash } = place;
  const folder = FOLDERS.find((one) => isIn(one, path) && router.hasIn(one, isOpen));
  if (folder !== undefined) requireSlash(place);
  const matches = folder === undefined && endsInSlash ? [] : router.at(path).filter(({ route }) => isOpen(route));
  if (matches.length === 0) {
    throw new Refusal(404, folder === undefined ? "404 page not found\n" : "404: Page Not Found");
  }
  const match = forMethod(matches, method);
  if (match === undefined) throw new MethodRefusal(methodsOf(matches).join(", "));
  return match;
}

/** Sorts exact before named before rest, step by step. */
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
