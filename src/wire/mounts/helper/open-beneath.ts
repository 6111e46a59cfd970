/**
 * Resolves a relative path inside a volume, while users of the volume may change any name in it at any moment. Each
 * component is opened below the directory that is held already, never through a symbolic link. A link is read and
 * walked like the rest of the path, and only if it stays inside. So the worst effect of a change is another place in
 * the same volume.
 */
import { chmodSync, mkdirSync, readlinkSync } from "node:fs";
import { errnoOf } from "../../host/errno.ts";
import { SUBPATH_LINKS_MAX } from "../../limits.ts";
import { Place } from "./descriptor.ts";
import { HelperError } from "./helper-error.ts";

const TRIES_MAX = 10;

interface Part {
  readonly name: string;
  /** The component comes from a link's target: it is never created. */
  readonly linked: boolean;
}

const unsafe = (detail: string) => new HelperError("unsafePath", detail);

const partsOf = (path: string, linked: boolean): readonly Part[] =>
  path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .map((name) => ({ name, linked }));

/** Missing directories are created, with the mode of the volume. */
export function openBeneath(volume: string, subPath: string): Place {
  const parts = partsOf(subPath, false);
  if (subPath.startsWith("/") || parts.some(({ name }) => name === "..")) {
    throw unsafe(`the path "${subPath}" leads out of the volume`);
  }
  using walk = new Walk(volume);
  return walk.to(parts);
}

class Walk implements Disposable {
  readonly #mode: number;
  readonly #root: string;
  /** From the volume to the current entry: ".." returns the way the walk came, not to what ".." names by then. */
  readonly #held: Place[];

  constructor(volume: string) {
    const root = Place.directory(volume);
    this.#held = [root];
    this.#mode = Number(root.stat().mode) & 0o7777;
    this.#root = readlinkSync(root.path);
  }

  to(path: readonly Part[]): Place {
    const left = [...path];
    let links = 0;
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      if (part.name === "..") {
        this.#leave();
        continue;
      }
      const child = this.#enter(part);
      this.#held.push(child);
      if (!child.stat().isSymbolicLink()) continue;
      links += 1;
      if (links > SUBPATH_LINKS_MAX) throw unsafe("too many links");
      this.#leave();
      left.unshift(...this.#follow(part.name));
    }
    const place = this.#held.pop();
    if (place === undefined) throw unsafe("the path leads out of the volume");
    return place;
  }

  [Symbol.dispose](): void {
    for (const place of this.#held) place[Symbol.dispose]();
  }

  get #here(): Place {
    const here = this.#held.at(-1);
    if (here === undefined) throw unsafe("the path leads out of the volume");
    return here;
  }

  #leave(): void {
    if (this.#held.length === 1) throw unsafe("a link leads out of the volume");
    this.#held.pop()?.[Symbol.dispose]();
  }

  #enter(part: Part): Place {
    const path = this.#here.entry(part.name);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      try {
        return Place.at(path);
      } catch (error) {
        if (errnoOf(error) !== "ENOENT" || part.linked) throw error;
        this.#make(path);
      }
    }
    throw unsafe(`"${part.name}" comes and goes`);
  }

  #make(path: string): void {
    try {
      mkdirSync(path, { mode: this.#mode });
    } catch (error) {
      if (errnoOf(error) === "EEXIST") return; // Another process was faster: inspect it like any other entry.
      throw error;
    }
    using made = Place.at(path);
    // mkdir ignores the set-group-ID bit, and the entry may have been replaced: change only a directory, and only the
    // one held.
    const { mode } = made.stat();
    if (made.stat().isDirectory() && (Number(mode) & 0o7777) !== this.#mode) chmodSync(made.path, this.#mode);
  }

  /** The components of a link's target. An absolute one must name a place in the volume, as the node sees it. */
  #follow(name: string): readonly Part[] {
    const target = this.#targetOf(name);
    if (!target.startsWith("/")) return partsOf(target, true);
    const root = this.#root === "/" ? "" : this.#root;
    if (target !== root && !target.startsWith(`${root}/`)) {
      throw unsafe(`the link "${name}" leads out of the volume`);
    }
    while (this.#held.length > 1) this.#leave();
    return partsOf(target.slice(root.length), true);
  }

  #targetOf(name: string): string {
    try {
      return readlinkSync(this.#here.entry(name));
    } catch (error) {
      if (errnoOf(error) === "EINVAL" || errnoOf(error) === "ENOENT") throw unsafe(`the link "${name}" changed`);
      throw error;
    }
  }
}
