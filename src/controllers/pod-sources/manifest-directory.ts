/**
 * Reads the current manifests of a directory or a single file. Remembers each file's last content and since when it has
 * been invalid. A file that was removed and created again is another incarnation of its manifest, even if the content
 * is the same; a file whose content was replaced is not.
 */
import { errorText } from "../../base/error-text.ts";
import type { StaticManifest } from "../../domain/static-pods/static-pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import { followLinks } from "../../ports/follow-links.ts";
import { type HostFiles, isMissing } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { MANIFEST_BYTES_MAX } from "../limits.ts";
import { readManifests } from "./manifests.ts";

interface Options {
  readonly path: string;
  readonly checkEveryMs: number;
  readonly nodeName: string;
}

interface Parts {
  readonly files: Pick<HostFiles, "facts" | "list" | "read" | "readLink">;
  readonly clock: Clock;
  readonly log: Log;
}

/** A manifest of a file. */
export interface FileManifest extends StaticManifest {
  /** Increases whenever a manifest appears or is removed and created again. */
  readonly incarnation: number;
}

/** The last state of one file. */
interface Remembered {
  readonly incarnation: number;
  readonly bytes: Uint8Array | undefined;
  readonly manifest: StaticManifest | undefined;
  /** Since when the file is unusable, and why. */
  readonly bad: { readonly sinceMs: number; readonly reason: string } | undefined;
}

const LINKS_MAX = 39;

export class ManifestDirectory {
  readonly #options: Options;
  readonly #parts: Parts;
  #remembered = new Map<string, Remembered>();
  #incarnations = 0;
  #missing = false;

  constructor(options: Options, parts: Parts) {
    this.#options = { ...options, path: options.path.replace(/(?<=.)\/+$/, "") };
    this.#parts = parts;
  }

  /**
   * `recreated`: names of files that were removed and created again since the last read. Undefined when the state is
   * unknown: the path exists but cannot be read, or its single file was never valid.
   */
  async read(recreated: ReadonlySet<string> = new Set()): Promise<readonly FileManifest[] | undefined> {
    const { path } = this.#options;
    this.#noteRecreated(recreated);
    try {
      const target = await this.#resolve(path);
      if (target === undefined) return this.#nothing();
      this.#missing = false;
      if (target.kind === "directory") return await this.#readAll(path, target.path);
      if (target.kind !== "file") throw new Error("path is not a directory or file");
      return await this.#readSingle(path);
    } catch (error) {
      if (isMissing(error)) return this.#nothing();
      this.#parts.log.error("Unable to read config path", error, { path });
      return undefined;
    }
  }

  #noteRecreated(names: ReadonlySet<string>): void {
    for (const [path, before] of this.#remembered) {
      if (!names.has(path.slice(path.lastIndexOf("/") + 1))) continue;
      this.#parts.log.info(2, "A manifest file was removed and created again", { path });
      this.#remembered.set(path, { ...before, incarnation: this.#nextIncarnation() });
    }
  }

  #nextIncarnation(): number {
    this.#incarnations += 1;
    return this.#incarnations;
  }

  #nothing(): readonly FileManifest[] {
    if (!this.#missing) this.#parts.log.info(0, "Config path does not exist, ignoring", { path: this.#options.path });
    this.#missing = true;
    this.#remembered.clear();
    return [];
  }

  async #readAll(path: string, directory: string): Promise<readonly FileManifest[]> {
    const names = (await this.#parts.files.list(directory)).filter((name) => !name.startsWith(".")).toSorted();
    const now = new Map<string, Remembered>();
    for (const name of names) {
      const file = `${path}/${name}`;
      const said = await this.#readFile(file, `${directory}/${name}`);
      if (said !== undefined) now.set(file, said);
    }
    this.#remembered = now;
    return [...now.values()].flatMap(found);
  }

  /** A single file that becomes invalid keeps its last valid manifest forever: no other file provides pods. */
  async #readSingle(path: string): Promise<readonly FileManifest[] | undefined> {
    const before = this.#remembered.get(path)?.manifest;
    const said = await this.#readFile(path, path);
    if (said === undefined) return this.#nothing();
    const now = { ...said, manifest: said.manifest ?? before };
    this.#remembered = new Map([[path, now]]);
    return now.manifest === undefined ? undefined : found(now);
  }

  /** `path` identifies the file, `at` is its location. Undefined when the file no longer exists. */
  async #readFile(path: string, at: string): Promise<Remembered | undefined> {
    const before = this.#remembered.get(path);
    try {
      const target = await this.#resolve(at);
      if (target === undefined) return undefined;
      if (target.kind === "directory")
        return this.#unusable(path, before, undefined, "a directory, not recursing into it");
      if (target.kind !== "file") return this.#unusable(path, before, undefined, "not a directory or file");
      const bytes = await this.#parts.files.read(target.path, MANIFEST_BYTES_MAX);
      if (before?.bytes !== undefined && Buffer.from(before.bytes).equals(bytes)) {
        return before.bad === undefined ? before : this.#unusable(path, before, bytes, before.bad.reason);
      }
      const read = readManifests(bytes, { kind: "file", path }, this.#options.nodeName, { lists: false });
      if (read.kind === "refused") return this.#unusable(path, before, bytes, read.reason);
      const incarnation = before?.incarnation ?? this.#nextIncarnation();
      return { incarnation, bytes, manifest: read.manifests[0], bad: undefined };
    } catch (error) {
      if (isMissing(error)) return undefined;
      return this.#unusable(path, before, undefined, errorText(error));
    }
  }

  #unusable(path: string, before: Remembered | undefined, bytes: Uint8Array | undefined, reason: string): Remembered {
    const nowMs = this.#parts.clock.monotonicMs();
    const sinceMs = before?.bad?.sinceMs ?? nowMs;
    if (before?.bad?.reason !== reason) this.#parts.log.error("Could not process manifest file", reason, { path });
    const kept = nowMs - sinceMs < this.#options.checkEveryMs ? before?.manifest : undefined;
    const incarnation = before?.incarnation ?? this.#nextIncarnation();
    return { incarnation, bytes, manifest: kept, bad: { sinceMs, reason } };
  }

  /** Follows symlinks at the end of the path. Undefined if the target does not exist or the symlinks form a loop. */
  async #resolve(path: string): Promise<{ readonly path: string; readonly kind: string } | undefined> {
    const end = await followLinks(this.#parts.files, path, LINKS_MAX);
    return end.kind === "found" ? { path: end.path, kind: end.what } : undefined;
  }
}

const found = ({ manifest, incarnation }: Remembered): readonly FileManifest[] =>
  manifest === undefined ? [] : [{ ...manifest, incarnation }];
