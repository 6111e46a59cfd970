/**
 * Allocates ID ranges to pods with a user namespace. Ranges on disk and ranges in use by the runtime are known before
 * any allocation, so two pods never share one. A range is on disk before it is used and free again when its pod has
 * terminated.
 */
import { errorText } from "../../base/error-text.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import {
  freeRange,
  type IdSpace,
  mappingsText,
  ownUsers,
  parseMappings,
  type UserNamespace,
} from "../../domain/container-config/user-namespace.ts";
import { podDirectory } from "../../domain/pod/pod-names.ts";
import { type HostFiles, isMissing, isTooLarge, listIfThere } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { USER_NAMESPACE_FILE_BYTES_MAX } from "../limits.ts";

export interface UserNamespaceAllocatorParts {
  readonly files: HostFiles;
  readonly log: Log;
  readonly rootDir: string;
  readonly space: IdSpace;
  /** First IDs of the ranges that the runtime uses. */
  readonly inRuntime: () => Iterable<number>;
}

const FILE = "userns";
const FILE_MODE = 0o600;

export class UserNamespaceAllocator {
  readonly #parts: UserNamespaceAllocatorParts;
  /** First IDs, by pod UID. */
  readonly #allocated = new Map<string, number>();
  /** Allocated, but not on disk yet. */
  readonly #writing = new Set<string>();
  #loading: Promise<void> | undefined;

  constructor(parts: UserNamespaceAllocatorParts) {
    this.#parts = parts;
  }

  /** Returns the pod's range, allocating a free one if it has none. */
  async allocate(uid: string): Promise<UserNamespace> {
    const { files, space } = this.#parts;
    await this.#load();
    const known = this.#allocated.get(uid);
    if (known !== undefined) return ownUsers(known, space.length);
    if (this.#free() === undefined) await this.#forgetGone();
    const firstId = this.#free();
    if (firstId === undefined) {
      throw new Error("create user namespace: could not find an empty slot to allocate a user namespace");
    }
    const users = ownUsers(firstId, space.length);
    this.#allocated.set(uid, firstId);
    this.#writing.add(uid);
    try {
      await files.writeAtomically(this.#file(uid), utf8Bytes(mappingsText(users)), FILE_MODE);
      return users;
    } catch (error) {
      this.#allocated.delete(uid);
      throw new Error(`create user namespace: ${errorText(error)}`, { cause: error });
    } finally {
      this.#writing.delete(uid);
    }
  }

  /** Call when the pod has terminated: none of its processes run. */
  async release(uid: string): Promise<void> {
    await this.#load();
    if (!this.#allocated.has(uid)) return;
    await this.#parts.files.removeFile(this.#file(uid)).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
    this.#allocated.delete(uid);
  }

  #file(uid: string): string {
    return `${podDirectory(this.#parts.rootDir, uid)}/${FILE}`;
  }

  #free(): number | undefined {
    return freeRange(this.#parts.space, new Set([...this.#allocated.values(), ...this.#parts.inRuntime()]));
  }

  /** Directories of unknown pods may have been removed since they were read. */
  async #forgetGone(): Promise<void> {
    for (const uid of this.#allocated.keys()) {
      if (this.#writing.has(uid)) continue;
      if ((await this.#parts.files.facts(this.#file(uid))) === undefined) this.#allocated.delete(uid);
    }
  }

  #load(): Promise<void> {
    this.#loading ??= this.#readAll().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #readAll(): Promise<void> {
    const { files, log, rootDir, space } = this.#parts;
    for (const uid of await listIfThere(files, `${rootDir}/pods`)) {
      const text = await this.#read(uid);
      if (text === undefined) continue;
      const known = parseMappings(text, space);
      if (known.kind === "range") this.#allocated.set(uid, known.firstId);
      // The runtime reports the ranges of running pods; the others get a new range.
      else log.error("Failed to read a pod's user namespace ID range", new Error(known.message), { uid });
    }
  }

  async #read(uid: string): Promise<string | undefined> {
    try {
      return utf8Text(await this.#parts.files.read(this.#file(uid), USER_NAMESPACE_FILE_BYTES_MAX)) ?? "";
    } catch (error) {
      if (isMissing(error)) return undefined;
      if (isTooLarge(error)) return "";
      throw error;
    }
  }
}
