/**
 * Keeps a local copy of all API objects of one kind, from a list and a watch.
 *
 * Readers see consistent states only: a first list, or one that replaces a lost watch, appears in one step, without the
 * objects deleted in between. A broken watch resumes from its last resource version; an expired version causes a new
 * list. The informer never stops by itself: it reports every failure and retries until its signal aborts.
 */

import { type BackoffCurve, backoffMs } from "../base/backoff.ts";
import { errorText } from "../base/error-text.ts";
import { ApiError, ApiUnreachableError } from "../ports/api-error.ts";
import type { ApiObject, ApiServer, Resource, Selection, WatchEvent } from "../ports/api-server.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import { linkSignals } from "./abort.ts";
import { afterFailure } from "./informer-recovery.ts";
import { type Latest, LatestCell } from "./latest-cell.ts";
import { pause } from "./sleep.ts";

interface InformerStore<T> {
  /** False until the first list is complete. */
  readonly synced: boolean;
  /** By "namespace/name", or "name" for cluster-scoped kinds. A key may reappear with another UID. */
  readonly objects: ReadonlyMap<string, T>;
}

export interface InformerOptions<T extends ApiObject> {
  readonly api: Pick<ApiServer, "list" | "watch">;
  readonly resource: Resource<T>;
  readonly selection: Selection;
  readonly clock: Clock;
  readonly random: Random;
  readonly onTrouble: (detail: string) => void;
  /** Reduces an object to the parts worth keeping. Default: keeps the whole object. */
  readonly keep?: (object: T) => T;
  /** Replaces the default backoff after consecutive failures. */
  readonly backoff?: BackoffCurve;
}

export interface Informer<T> {
  readonly store: Latest<InformerStore<T>>;
  /** Resolves after the signal has aborted and the last call has ended. */
  readonly ended: Promise<void>;
}

const BACKOFF: BackoffCurve = { firstMs: 800, maxMs: 30_000 };
/** A watch that lasted this long resets the failure count. */
const HEALTHY_MS = 60_000;
/** A watch that ends sooner did not end normally and is not reopened at once. */
const WATCH_MS_MIN = 1000;
const INITIAL_EVENTS_LIMIT_MS = 60_000;
const PAGE_LIMIT = 500;

export function startInformer<T extends ApiObject>(options: InformerOptions<T>, signal: AbortSignal): Informer<T> {
  const loop = new InformerLoop(options);
  return { store: loop.store, ended: loop.run(signal) };
}

const objectKey = ({ metadata }: ApiObject): string => {
  const { name, namespace = "" } = metadata ?? {};
  if (name === undefined || name === "") throw new Error("the server sent an object without a name");
  return namespace === "" ? name : `${namespace}/${name}`;
};

class InformerLoop<T extends ApiObject> {
  readonly store = new LatestCell<InformerStore<T>>({ synced: false, objects: new Map() });
  readonly #options: InformerOptions<T>;
  /** The resource version to watch from; undefined: list first. */
  #version: string | undefined;
  #streams = true;
  #failures = 0;
  #barrenResumes = 0;
  #sawEvent = false;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, backoff = BACKOFF } = this.#options;
    while (!signal.aborted) {
      const startedMs = clock.monotonicMs();
      this.#sawEvent = false;
      const resumed = this.#version !== undefined;
      let failure: unknown;
      try {
        await this.#turn(signal);
        if (clock.monotonicMs() - startedMs < WATCH_MS_MIN) {
          failure = new ApiUnreachableError("WATCH", "ended as soon as it began", true);
        }
      } catch (error) {
        failure = error;
      }
      if (signal.aborted) return;
      if (clock.monotonicMs() - startedMs >= HEALTHY_MS) this.#failures = 0;
      if (failure === undefined) continue;
      const atOnce = this.#recover(failure, resumed);
      this.#failures += 1;
      if (atOnce && this.#failures === 1) continue;
      const askedMs = failure instanceof ApiError ? (failure.retryAfterMs ?? 0) : 0;
      const waitMs = Math.max(backoffMs(backoff, this.#failures, random.fraction()), askedMs);
      await pause(clock, waitMs, signal);
    }
  }

  /** Decides how to continue; returns whether to skip the pause. */
  #recover(failure: unknown, resumed: boolean): boolean {
    const { onTrouble, resource } = this.#options;
    onTrouble(`${resource.plural}: ${errorText(failure)}`);
    this.#barrenResumes = resumed && !this.#sawEvent ? this.#barrenResumes + 1 : 0;
    const next = afterFailure(failure, this.#barrenResumes);
    if (next.from === "list") this.#version = undefined;
    return next.atOnce;
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { api, resource, selection } = this.#options;
    if (this.#version === undefined && this.#streams) {
      try {
        await this.#streamingList(signal);
        return;
      } catch (error) {
        if (!refusesStreaming(error)) throw error;
        this.#streams = false;
      }
    }
    this.#version ??= await this.#pagedList(signal);
    const start = { kind: "after", resourceVersion: this.#version } as const;
    for await (const event of api.watch(resource, selection, start, signal)) this.#apply(event);
  }

  async #streamingList(signal: AbortSignal): Promise<void> {
    const { api, resource, selection, clock } = this.#options;
    using limited = linkSignals(signal);
    const cancelLimit = clock.after(INITIAL_EVENTS_LIMIT_MS, () =>
      limited.abort(new Error(`the list was not complete within ${INITIAL_EVENTS_LIMIT_MS} ms`)),
    );
    const objects = new Map<string, T>();
    let complete = false;
    try {
      for await (const event of api.watch(resource, selection, { kind: "initialEvents" }, limited.signal)) {
        if (complete) {
          this.#apply(event);
        } else if (event.kind === "bookmark") {
          complete = event.initialEventsEnd;
          if (complete) {
            cancelLimit();
            this.#replace(objects, event.resourceVersion);
          }
        } else {
          this.#change(objects, event);
        }
      }
      if (!complete) {
        // A server that does not support the option never sends the end of the initial list.
        this.#streams = false;
        throw new Error("the watch ended before its list was complete");
      }
    } finally {
      cancelLimit();
    }
  }

  async #pagedList(signal: AbortSignal): Promise<string> {
    const { api, resource, selection } = this.#options;
    const objects = new Map<string, T>();
    let continueToken: string | undefined;
    for (;;) {
      const options = { limit: PAGE_LIMIT, ...(continueToken === undefined ? {} : { continueToken }) };
      const page = await api.list(resource, selection, options, signal);
      for (const object of page.items) objects.set(objectKey(object), this.#kept(object));
      continueToken = page.continueToken;
      if (continueToken === undefined) {
        this.#replace(objects, page.resourceVersion);
        return page.resourceVersion;
      }
    }
  }

  #replace(objects: ReadonlyMap<string, T>, version: string): void {
    this.#sawEvent = true;
    this.#version = version;
    this.store.set({ synced: true, objects });
  }

  #apply(event: WatchEvent<T>): void {
    this.#sawEvent = true;
    if (event.kind === "bookmark") {
      this.#version = event.resourceVersion;
      return;
    }
    const objects = new Map(this.store.value.objects);
    this.#change(objects, event);
    this.store.set({ synced: true, objects });
    this.#version = event.object.metadata?.resourceVersion ?? this.#version;
  }

  #change(objects: Map<string, T>, { kind, object }: Exclude<WatchEvent<T>, { kind: "bookmark" }>): void {
    const key = objectKey(object);
    if (kind !== "deleted") {
      objects.set(key, this.#kept(object));
      return;
    }
    // This may be a late delete event for an object whose name a newer object has taken.
    if (objects.get(key)?.metadata?.uid === object.metadata?.uid) objects.delete(key);
  }

  #kept(object: T): T {
    return this.#options.keep?.(object) ?? object;
  }
}

const refusesStreaming = (error: unknown) =>
  error instanceof ApiError && (error.status === 400 || error.status === 422);
