/**
 * Finds what a relative path names inside a volume, while whoever uses the volume may change any name in it at any moment. Each part is opened
 * below the folder that is held already, never through a link; a link is read and walked like the rest of the path, and only if that stays
 * inside. So the worst that a change can bring about is another place of the same volume.
 */
import { chmodSync, mkdirSync, readlinkSync } from "node:fs";
import { errnoOf } from "../../host/errno.ts";
import { SUBPATH_LINKS_MAX } from "../../limits.ts";
import { Place } from "./descriptor.ts";
import { HelperError } from "./helper-error.ts";

const TRIES_MAX = 10;

interface Part {
  readonly name: string;
  /** Of a link's target: such a part is never made. */
  readonly linked: boolean;
}

const unsafe = (detail: string) => new HelperError("unsafePath", detail);

const partsOf = (path: string, linked: boolean): readonly Part[] =>
  path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .map((name) => ({ name, linked }));

/** Folders that are not there are made, with the mode of the volume. */
export function openBelow(volume: string, subPath: string): Place {
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
  /** From the volume to where the walk has come: the way back is the way it came, not what ".." says by then. */
  readonly #held: Place[];

  constructor(volume: string) {
    const root = Place.folder(volume);
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
      if (errnoOf(error) === "EEXIST") return; // Somebody was quicker: it is looked at like anything else.
      throw error;
    }
    using made = Place.at(path);
    // mkdir takes no set-group bit, and what is there by now may be something else: only a folder is changed, and only the one that is held.
    const { mode } = made.stat();
    if (made.stat().isDirectory() && (Number(mode) & 0o7777) !== this.#mode) chmodSync(made.path, this.#mode);
  }

  /** The parts of a link's target. An absolute one must name a place in the volume, which is how the node sees it. */
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
