/**
 * Selects the events of a pod that the journal keeps, so that a cause that repeats a thousand times costs a dozen
 * records. An event is kept when it is new, when it returns after another event, and whenever its count doubles. Texts
 * that differ only in numbers are the same.
 */
import { firstBytes } from "../../base/cut-text.ts";
import { RecentMap } from "../../base/recent-map.ts";
import { EXPLANATION_BYTES_MAX } from "../limits.ts";

export interface Note {
  readonly uid: string;
  readonly on: string;
  readonly reason: string;
  readonly why: string;
}

/** The number of pods that a node may have had recently. */
const UIDS_MAX = 2_000;
const CAUSES_PER_UID_MAX = 50;
/** This many returns of an event are kept; later returns only when their count doubles. */
const RETURNS_KEPT = 4;

interface Heard {
  readonly counts: RecentMap<string, { times: number; returns: number }>;
  last: string;
}

export class NoteDeduplicator {
  readonly #heard = new RecentMap<string, Heard>(UIDS_MAX);

  /** Returns the event to keep with its count, or undefined. */
  observe(note: Note): (Note & { readonly times: number }) | undefined {
    if (isEcho(note)) return undefined;
    const { uid, on, reason } = note;
    const why = firstBytes(note.why, EXPLANATION_BYTES_MAX);
    const heard = this.#heardOf(uid);
    const cause = `${on} ${reason} ${withoutNumbers(why)}`;
    const count = heard.counts.get(cause) ?? { times: 0, returns: 0 };
    heard.counts.set(cause, count);
    count.times += 1;
    const isReturn = heard.last !== cause;
    if (isReturn) count.returns += 1;
    heard.last = cause;
    const keeps =
      ALWAYS_KEPT.has(reason) ||
      isPowerOfTwo(count.times) ||
      (isReturn && (count.returns <= RETURNS_KEPT || isPowerOfTwo(count.returns)));
    return keeps ? { uid, on, reason, why, times: count.times } : undefined;
  }

  #heardOf(uid: string): Heard {
    const known = this.#heard.get(uid);
    if (known !== undefined) return known;
    const fresh: Heard = { counts: new RecentMap(CAUSES_PER_UID_MAX), last: "" };
    this.#heard.set(uid, fresh);
    return fresh;
  }
}

/**
 * Started begins the run that the next exit ends, and every exit is kept. The others are emitted only when the state
 * changes.
 */
const ALWAYS_KEPT: ReadonlySet<string> = new Set(["Started", "RuntimeReady", "RuntimeNotReady"]);

/** Whether an event repeats an earlier one that has the cause, or what other records of the journal say better. */
const isEcho = ({ reason, why }: Note): boolean =>
  reason === "BackOff" || reason === "Created" || (reason === "Failed" && /^Error: [A-Z]\w+$/.test(why));

const withoutNumbers = (text: string): string => text.replaceAll(/\b[0-9a-f]{12,}\b|\d+/g, "#");

const isPowerOfTwo = (count: number): boolean => Number.isInteger(Math.log2(count));
