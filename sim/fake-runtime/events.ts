/** The runtime's container events: told to whoever follows at that moment, and to nobody later. */
import type { ContainerEvent } from "../../src/domain/runtime/container.ts";
import type { StreamSink } from "../port-stream.ts";

export class EventHub {
  readonly #readers = new Set<StreamSink<ContainerEvent>>();
  /** For the world: a hint that is lost on its way. */
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
