/**
 * Which of the things that are told of a pod the journal keeps, so that a cause that repeats a thousand times costs a dozen records: each when
 * it is new, when it comes back after something else, and at every doubling of its count. Texts that differ in numbers only are the same.
 */
import { firstBytes } from "../../base/cut-text.ts";
import { RecentMap } from "../../base/recent-map.ts";
import { EXPLANATION_BYTES_MAX } from "../limits.ts";

export interface Telling {
  readonly uid: string;
  readonly on: string;
  readonly reason: string;
  readonly why: string;
}

/** As many pods as a node may have had lately. */
const UIDS_MAX = 2_000;
const CAUSES_PER_UID_MAX = 50;
/** So often what comes back is kept each time. */
const RETURNS_KEPT = 4;

interface Heard {
  readonly counts: RecentMap<string, { times: number; returns: number }>;
  last: string;
}

export class Tellings {
  readonly #heard = new RecentMap<string, Heard>(UIDS_MAX);

  /** What to keep of it, or nothing. */
  observe(telling: Telling): (Telling & { readonly times: number }) | undefined {
    if (isEcho(telling)) return undefined;
    const { uid, on, reason } = telling;
    const why = firstBytes(telling.why, EXPLANATION_BYTES_MAX);
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

/** The first begins what the next end closes, and each end is kept as well; the others are told when they change only. */
const ALWAYS_KEPT: ReadonlySet<string> = new Set(["Started", "RuntimeReady", "RuntimeNotReady"]);

/** Says nothing that was not told before it, with its cause, or that the journal's facts do not say better. */
const isEcho = ({ reason, why }: Telling): boolean =>
  reason === "BackOff" || reason === "Created" || (reason === "Failed" && /^Error: [A-Z]\w+$/.test(why));

const withoutNumbers = (text: string): string => text.replaceAll(/\b[0-9a-f]{12,}\b|\d+/g, "#");

const isPowerOfTwo = (count: number): boolean => Number.isInteger(Math.log2(count));
