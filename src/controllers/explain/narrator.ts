/**
 * Leaves in the journal what is told of pods, for those who ask on the node: an event sink beside the one that users hear. Nothing waits for it,
 * it costs no sync, and what repeats is kept once in a while only.
 */
import { type Telling, Tellings } from "../../domain/explain/tellings.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink, EventSubject } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";

export class Narrator implements EventSink {
  readonly #journal: Pick<Journal, "note">;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #tellings = new Tellings();

  constructor(journal: Pick<Journal, "note">, clock: Pick<Clock, "wallMs">) {
    this.#journal = journal;
    this.#clock = clock;
  }

  /** What is told of the node explains none of its pods. */
  emit({ kind, namespace, name, uid, fieldPath = "" }: EventSubject, _type: string, reason: string, why: string): void {
    if (kind === "Pod" && uid !== "") this.tell(`${namespace}/${name}`, { uid, on: fieldPath, reason, why });
  }

  /** `pod`: its namespace and name. */
  tell(pod: string, telling: Telling): void {
    const kept = this.#tellings.observe(telling);
    if (kept !== undefined) this.#journal.note({ kind: "told", ...kept, pod, wallMs: this.#clock.wallMs() });
  }
}

export const tellBoth = (first: EventSink, second: EventSink): EventSink => ({
  emit(...event) {
    first.emit(...event);
    second.emit(...event);
  },
});
