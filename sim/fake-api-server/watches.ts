/**
 * Open watches. Each change is sent to the watches whose selector it concerns, as that selector sees it. Watches are
 * indexed by name or node, so that many nodes cost little.
 */
import type { WatchEvent, WatchStart } from "../../src/ports/api-server.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Random } from "../../src/ports/random.ts";
import type { StreamSink } from "../port-stream.ts";
import { fieldAt, type Kind } from "./kinds.ts";
import { badRequest, Refusal } from "./refusal.ts";
import type { Selector } from "./selectors.ts";
import type { Change, Store } from "./store.ts";
import type { Stored } from "./stored.ts";

export interface WatchTimes {
  /** The interval between bookmarks of a watch. */
  readonly bookmarkEveryMs: number;
  /** The age at which the server ends a watch. */
  readonly endAfterMs: { readonly min: number; readonly max: number };
}

interface Watch {
  readonly selector: Selector;
  readonly sink: StreamSink<WatchEvent<Stored>>;
  readonly who: string;
  readonly openedMs: number;
}

export class Watches {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #times: WatchTimes;
  readonly #buckets = new Map<string, Set<Watch>>();

  constructor(clock: Clock, random: Random, times: WatchTimes) {
    this.#clock = clock;
    this.#random = random;
    this.#times = times;
  }

  get count(): number {
    return [...this.#buckets.values()].reduce((sum, bucket) => sum + bucket.size, 0);
  }

  /** Since when a watch on the objects of a node is open; undefined: none is open. */
  openSinceMs(kind: Kind, nodeName: string): number | undefined {
    const opened = [...(this.#buckets.get(`${kind.key} node ${nodeName}`) ?? [])].map(({ openedMs }) => openedMs);
    return opened.length === 0 ? undefined : Math.min(...opened);
  }

  /** Opens a watch and returns the function that closes it. Throws the error that the real server sends. */
  open(store: Store, kind: Kind, selector: Selector, start: WatchStart, sink: Watch["sink"], who: string): () => void {
    for (const event of firstEvents(store, kind, selector, start)) sink.send(event);
    const watch: Watch = { selector, sink, who, openedMs: this.#clock.monotonicMs() };
    const bucket = bucketOf(kind, selector);
    const watches = this.#buckets.get(bucket) ?? new Set();
    this.#buckets.set(bucket, watches.add(watch));
    const { min, max } = this.#times.endAfterMs;
    const close = () => {
      watches.delete(watch);
      if (watches.size === 0) this.#buckets.delete(bucket);
      cancelEnd();
      cancelBookmark();
    };
    const cancelEnd = this.#clock.after(Math.round(min + this.#random.fraction() * (max - min)), () => {
      close();
      sink.end();
    });
    let cancelBookmark = () => {};
    const bookmark = () => {
      cancelBookmark = this.#clock.after(this.#times.bookmarkEveryMs, () => {
        sink.send({ kind: "bookmark", resourceVersion: String(store.version), initialEventsEnd: false });
        bookmark();
      });
    };
    bookmark();
    return close;
  }

  tell(kind: Kind, change: Change): void {
    const objects = [change.object, ...(change.before === undefined ? [] : [change.before])];
    const buckets = new Set([kind.key, ...objects.flatMap((object) => bucketsOf(kind, object))]);
    for (const bucket of buckets) {
      for (const { selector, sink } of this.#buckets.get(bucket) ?? []) {
        const event = seenThrough(selector, change);
        if (event !== undefined) sink.send(event);
      }
    }
  }

  /** Breaks the connections of all agents, or of one. */
  breakAll(error: (kind: string) => unknown, who?: string): void {
    for (const bucket of this.#buckets.values()) {
      for (const watch of bucket) {
        if (who === undefined || watch.who === who) watch.sink.fail(error(watch.who));
      }
    }
  }
}

const bucketOf = (kind: Kind, { name, nodeName }: Selector) => {
  if (name !== undefined) return `${kind.key} name ${name}`;
  return nodeName === undefined ? kind.key : `${kind.key} node ${nodeName}`;
};

const bucketsOf = (kind: Kind, object: Stored) => [
  `${kind.key} name ${object.metadata.name}`,
  `${kind.key} node ${fieldAt(object, "spec.nodeName")}`,
];

function firstEvents(store: Store, kind: Kind, selector: Selector, start: WatchStart): readonly WatchEvent<Stored>[] {
  if (start.kind === "initialEvents") {
    const here = store.all(kind, selector.fits);
    const bookmark = { kind: "bookmark", resourceVersion: String(store.version), initialEventsEnd: true } as const;
    return [...here.map((object) => ({ kind: "added", object }) as const), bookmark];
  }
  if (!/^\d+$/.test(start.resourceVersion)) throw badRequest(`invalid resource version ${start.resourceVersion}`);
  const changes = store.changesAfter(kind, Number(start.resourceVersion));
  if (changes === undefined) throw new Refusal(410, "Expired", `too old resource version: ${start.resourceVersion}`);
  return changes.flatMap((change) => seenThrough(selector, change) ?? []);
}

/** A watch reports an object that leaves its selection as deleted, and one that enters it as added. */
function seenThrough(selector: Selector, { kind, object, before, version }: Change): WatchEvent<Stored> | undefined {
  const wasSeen = before !== undefined && selector.fits(before);
  const isSeen = kind !== "deleted" && selector.fits(object);
  if (!wasSeen && !isSeen) return undefined;
  if (isSeen) return { kind: wasSeen ? "modified" : "added", object };
  if (kind === "deleted") return { kind, object };
  const last = before ?? object;
  return { kind: "deleted", object: { ...last, metadata: { ...last.metadata, resourceVersion: String(version) } } };
}
