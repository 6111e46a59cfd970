/**
 * Keeps events from flooding the API server, as users of Kubernetes know it. A repeated event counts up. The tenth
 * message of the same object, type and reason within ten minutes, and those after it, become one event "(combined from
 * similar events)". Each object gets 25 events of a type at once, then one every five minutes.
 *
 * A correlator has state, but no side effects and no clock: the same events at the same times give the same results.
 */
import { RecentMap } from "../../base/recent-map.ts";
import type { Counted, EventSubject, RecordedEvent } from "./recorded-event.ts";

export interface CorrelationLimits {
  readonly similarMax: number;
  readonly similarWithinMs: number;
  readonly burst: number;
  readonly refillMs: number;
  readonly rememberedMax: number;
}

export const usualLimits: CorrelationLimits = {
  similarMax: 10,
  similarWithinMs: 600_000,
  burst: 25,
  refillMs: 300_000,
  rememberedMax: 4096,
};

export type Correlated =
  | { readonly kind: "dropped" }
  /** `first`: the correlator does not remember an earlier occurrence of this event. */
  | { readonly kind: "write"; readonly key: string; readonly first: boolean; readonly counted: Counted };

interface Similar {
  readonly messages: Set<string>;
  lastMs: number;
}

interface Budget {
  tokens: number;
  countedMs: number;
}

export class EventCorrelator {
  readonly #limits: CorrelationLimits;
  readonly #similar: RecentMap<string, Similar>;
  readonly #counted: RecentMap<string, Counted>;
  readonly #budgets: RecentMap<string, Budget>;

  constructor(limits: CorrelationLimits = usualLimits) {
    this.#limits = limits;
    this.#similar = new RecentMap(limits.rememberedMax);
    this.#counted = new RecentMap(limits.rememberedMax);
    this.#budgets = new RecentMap(limits.rememberedMax);
  }

  /** `name` is the name of the event if it is new. `nowMs` never decreases. */
  observe(event: RecordedEvent, name: string, nowMs: number): Correlated {
    const combined = this.#isOneOfMany(event, nowMs);
    const message = combined ? `(combined from similar events): ${event.message}` : event.message;
    const key = combined ? similarKey(event) : eventKey(event);
    const before = this.#counted.get(key);
    const counted: Counted = {
      name: before?.name ?? name,
      count: (before?.count ?? 0) + 1,
      firstWallMs: before?.firstWallMs ?? event.wallMs,
      lastWallMs: event.wallMs,
      message,
    };
    this.#counted.set(key, counted);
    if (!this.#mayTell(event, nowMs)) return { kind: "dropped" };
    return { kind: "write", key, first: before === undefined, counted };
  }

  #isOneOfMany(event: RecordedEvent, nowMs: number): boolean {
    const { similarMax, similarWithinMs } = this.#limits;
    const key = similarKey(event);
    const before = this.#similar.get(key);
    const stale = before === undefined || nowMs - before.lastMs > similarWithinMs;
    const record = stale ? { messages: new Set<string>(), lastMs: nowMs } : before;
    record.lastMs = nowMs;
    record.messages.add(event.message);
    this.#similar.set(key, record);
    if (record.messages.size < similarMax) return false;
    // The first nine messages keep their own counts; this message and all later ones are combined.
    record.messages.delete(event.message);
    return true;
  }

  #mayTell(event: RecordedEvent, nowMs: number): boolean {
    const { burst, refillMs } = this.#limits;
    const key = join(objectParts(event.subject, false), event.type);
    const budget = this.#budgets.get(key) ?? { tokens: burst, countedMs: nowMs };
    budget.tokens = Math.min(burst, budget.tokens + (nowMs - budget.countedMs) / refillMs);
    budget.countedMs = nowMs;
    this.#budgets.set(key, budget);
    if (budget.tokens < 1) return false;
    budget.tokens -= 1;
    return true;
  }
}

const objectParts = ({ kind, namespace, name, uid, fieldPath }: EventSubject, withField: boolean) => [
  kind,
  namespace,
  name,
  uid,
  ...(withField ? [fieldPath ?? ""] : []),
];

const join = (parts: readonly string[], ...more: readonly string[]) => [...parts, ...more].join("\n");

const eventKey = ({ subject, type, reason, message }: RecordedEvent) =>
  `event\n${join(objectParts(subject, true), type, reason, message)}`;

const similarKey = ({ subject, type, reason }: RecordedEvent) =>
  `similar\n${join(objectParts(subject, false), type, reason)}`;
