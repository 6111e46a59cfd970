/**
 * Records every change of the node's pods with the time at which it reached this process. All latencies use this one
 * monotonic clock. The API server's own timestamps have a resolution of one second.
 */

import type { Pod } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import type { ApiServer, WatchStart } from "../src/ports/api-server.ts";
import { pause } from "../test/cluster/wait.ts";

export interface Seen {
  readonly atMs: number;
  readonly kind: "added" | "modified" | "deleted";
  readonly pod: Pod;
}

interface Waiter {
  readonly name: string;
  readonly holds: (seen: Seen) => boolean;
  readonly resolve: (seen: Seen) => void;
  readonly reject: (error: unknown) => void;
}

/** While bursts on six nodes keep the API server busy, it may end a watch that has just begun. */
const BRIEF_WATCHES_MAX = 5;
const BRIEF_PAUSE_MS = 200;
const WATCH_MS_MIN = 1_000;

export class PodWatcher {
  readonly #histories = new Map<string, Seen[]>();
  readonly #waiters = new Set<Waiter>();
  readonly #end = new AbortController();
  #broken: Error | undefined;
  #reopened = 0;

  constructor(api: Pick<ApiServer, "watch">, nodeName: string) {
    void this.#follow(api, nodeName);
  }

  /** Resolves at the first change for which `holds` is true, or at once when it is true already. */
  when(name: string, what: string, holds: (seen: Seen) => boolean, limitMs = 120_000): Promise<Seen> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    const last = this.history(name).at(-1);
    if (last !== undefined && holds(last)) return Promise.resolve(last);
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(limit);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        name,
        holds,
        resolve: (seen) => {
          leave();
          resolve(seen);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      const state = () => JSON.stringify(this.history(name).at(-1)?.pod.status ?? "nothing");
      const late = () => waiter.reject(new Error(`${name} was not ${what} within ${limitMs} ms: ${state()}`));
      const limit = setTimeout(late, limitMs);
      this.#waiters.add(waiter);
    });
  }

  history(name: string): readonly Seen[] {
    return this.#histories.get(name) ?? [];
  }

  /** How often the API server ended the watch. Changes at these moments are observed slightly late. */
  get reopened(): number {
    return this.#reopened;
  }

  /** Names of the pods that exist. */
  present(): readonly string[] {
    return [...this.#histories].filter(([, seen]) => seen.at(-1)?.kind !== "deleted").map(([name]) => name);
  }

  forget(): void {
    for (const [name, seen] of this.#histories) if (seen.at(-1)?.kind === "deleted") this.#histories.delete(name);
  }

  close(): void {
    this.#end.abort(new Error("the watch was closed"));
  }

  async #follow(api: Pick<ApiServer, "watch">, nodeName: string): Promise<void> {
    const selection = { fields: `spec.nodeName=${nodeName}` };
    let start: WatchStart = { kind: "initialEvents" };
    let brief = 0;
    try {
      // A busy API server ends the watch of a client that falls behind.
      for (; ; this.#reopened += 1) {
        const openedMs = performance.now();
        for await (const event of api.watch(pods, selection, start, this.#end.signal)) {
          const version: string | undefined =
            event.kind === "bookmark" ? event.resourceVersion : event.object.metadata?.resourceVersion;
          if (event.kind !== "bookmark") this.#note({ atMs: performance.now(), kind: event.kind, pod: event.object });
          if (version !== undefined) start = { kind: "after", resourceVersion: version };
        }
        brief = performance.now() - openedMs < WATCH_MS_MIN ? brief + 1 : 0;
        if (brief > BRIEF_WATCHES_MAX) throw new Error(`${brief} watches in a row ended as soon as they began`);
        await pause(brief * BRIEF_PAUSE_MS);
      }
    } catch (error) {
      this.#broken = new Error("the watch of the pods broke, and with it the measurement", { cause: error });
      for (const waiter of this.#waiters) waiter.reject(this.#broken);
    }
  }

  #note(seen: Seen): void {
    const name = seen.pod.metadata?.name ?? "";
    const history = this.#histories.get(name) ?? [];
    this.#histories.set(name, [...history, seen]);
    for (const waiter of this.#waiters) if (waiter.name === name && waiter.holds(seen)) waiter.resolve(seen);
  }
}

export const isReady = ({ pod }: Seen): boolean =>
  pod.status?.phase === "Running" &&
  (pod.status.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
