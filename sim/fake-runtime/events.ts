/** The runtime's container events. They are sent to current subscribers only and never replayed. */
import type { ContainerEvent } from "../../src/domain/runtime/container.ts";
import type { StreamSink } from "../port-stream.ts";

export class EventHub {
  readonly #readers = new Set<StreamSink<ContainerEvent>>();
  /** Set by the world: whether this event is lost in transit. */
  isLost: (event: ContainerEvent) => boolean = () => false;

  follow(reader: StreamSink<ContainerEvent>): () => void {
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  }

  tell(event: ContainerEvent): void {
    if (this.isLost(event)) return;
    for (const reader of this.#readers) reader.send(event);
  }

  breakAll(error: unknown): void {
    for (const reader of this.#readers) reader.fail(error);
    this.#readers.clear();
  }
}
