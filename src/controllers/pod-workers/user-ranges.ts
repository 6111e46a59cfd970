/**
 * The ranges of users that pods with a user namespace have for themselves. What is on disk and what the runtime runs counts before
 * anything is handed out, so no two pods ever share one; a range is on disk before it is used, and free again when its pod is over.
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
import { podFolder } from "../../domain/pod/pod-names.ts";
import { type HostFiles, isMissing, isTooLarge, listIfThere } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { USER_RANGES_FILE_BYTES_MAX } from "../limits.ts";

export interface UserRangesParts {
  readonly files: HostFiles;
  readonly log: Log;
  readonly rootDir: string;
  readonly space: IdSpace;
  /** First numbers of the ranges that the runtime has in use. */
  readonly inRuntime: () => Iterable<number>;
}

const FILE = "userns";
const FILE_MODE = 0o600;

export class UserRanges {
  readonly #parts: UserRangesParts;
  /** First numbers, by pod. */
  readonly #taken = new Map<string, number>();
  /** Taken, and not on disk yet. */
  readonly #writing = new Set<string>();
  #loading: Promise<void> | undefined;

  constructor(parts: UserRangesParts) {
    this.#parts = parts;
  }

  /** The pod's range: the one it has, else a free one, which is then its own. */
  async take(uid: string): Promise<UserNamespace> {
    const { files, space } = this.#parts;
    await this.#load();
    const known = this.#taken.get(uid);
    if (known !== undefined) return ownUsers(known, space.length);
    if (this.#free() === undefined) await this.#forgetGone();
    const firstId = this.#free();
    if (firstId === undefined) {
      throw new Error("create user namespace: could not find an empty slot to allocate a user namespace");
    }
    const users = ownUsers(firstId, space.length);
    this.#taken.set(uid, firstId);
    this.#writing.add(uid);
    try {
      await files.writeAtomically(this.#file(uid), utf8Bytes(mappingsText(users)), FILE_MODE);
      return users;
    } catch (error) {
      this.#taken.delete(uid);
      throw new Error(`create user namespace: ${errorText(error)}`, { cause: error });
    } finally {
      this.#writing.delete(uid);
    }
  }

  /** Its pod is over: nothing of it runs. */
  async release(uid: string): Promise<void> {
    await this.#load();
    if (!this.#taken.has(uid)) return;
    await this.#parts.files.removeFile(this.#file(uid)).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
    this.#taken.delete(uid);
  }

  #file(uid: string): string {
    return `${podFolder(this.#parts.rootDir, uid)}/${FILE}`;
  }

  #free(): number | undefined {
    return freeRange(this.#parts.space, new Set([...this.#taken.values(), ...this.#parts.inRuntime()]));
  }

  /** Folders of pods that nobody knew any more may have gone since they were read. */
  async #forgetGone(): Promise<void> {
    for (const uid of this.#taken.keys()) {
      if (this.#writing.has(uid)) continue;
      if ((await this.#parts.files.facts(this.#file(uid))) === undefined) this.#taken.delete(uid);
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
      if (known.kind === "range") this.#taken.set(uid, known.firstId);
      // What runs with it is known from the runtime; what does not gets another.
      else log.error("a pod's range of users cannot be read back", new Error(known.message), { uid });
    }
  }

  async #read(uid: string): Promise<string | undefined> {
    try {
      return utf8Text(await this.#parts.files.read(this.#file(uid), USER_RANGES_FILE_BYTES_MAX)) ?? "";
    } catch (error) {
      if (isMissing(error)) return undefined;
      if (isTooLarge(error)) return "";
      throw error;
    }
  }
}
