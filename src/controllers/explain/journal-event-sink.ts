/**
 * An event sink that journals pod events for `explain`, beside the sink that reports to users. Journaling never blocks,
 * costs no fsync, and keeps only some repetitions of an event.
 */
import type { EventSubject } from "../../domain/events/recorded-event.ts";
import { type Note, NoteDeduplicator } from "../../domain/explain/note-deduplicator.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";

export class JournalEventSink implements EventSink {
  readonly #journal: Pick<Journal, "note">;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #notes = new NoteDeduplicator();

  constructor(journal: Pick<Journal, "note">, clock: Pick<Clock, "wallMs">) {
    this.#journal = journal;
    this.#clock = clock;
  }

  /** Node events are not journaled: they explain no pod. */
  emit({ kind, namespace, name, uid, fieldPath = "" }: EventSubject, _type: string, reason: string, why: string): void {
    if (kind === "Pod" && uid !== "") this.note(`${namespace}/${name}`, { uid, on: fieldPath, reason, why });
  }

  /** `pod` is "namespace/name". */
  note(pod: string, note: Note): void {
    const kept = this.#notes.observe(note);
    if (kept !== undefined) this.#journal.note({ kind: "told", ...kept, pod, wallMs: this.#clock.wallMs() });
  }
}

export const teeEventSink = (first: EventSink, second: EventSink): EventSink => ({
  emit(...event) {
    first.emit(...event);
    second.emit(...event);
  },
});
