/**
 * Volumes that are mounted once on the node for all their pods. Operations on one volume run one after the other. A
 * volume is unstaged only when no pod uses it or is about to use it.
 */
import { KeyedLock } from "../../concurrency/keyed-lock.ts";

export class StagedVolumes {
  readonly #locks = new KeyedLock<string>();
  /**
   * By volume, the UIDs of pods that staged it and have not released it. Their mounts may not be in the kernel's mount
   * table yet.
   */
  readonly #users = new Map<string, Set<string>>();

  stage<T>(volume: string, uid: string, stage: () => Promise<T>): Promise<T> {
    const users = this.#users.get(volume) ?? new Set();
    this.#users.set(volume, users.add(uid));
    return this.withKeyLock(volume, stage);
  }

  /** `unstage` runs unless another pod uses the volume. */
  release(volume: string, uid: string, unstage: () => Promise<void>): Promise<void> {
    return this.withKeyLock(volume, async () => {
      const users = this.#users.get(volume);
      users?.delete(uid);
      if (users !== undefined && users.size > 0) return;
      this.#users.delete(volume);
      await unstage();
    });
  }

  /** Runs after all earlier work on the same key. */
  withKeyLock<T>(key: string, run: () => Promise<T>): Promise<T> {
    return this.#locks.withLock(key, run);
  }
}
