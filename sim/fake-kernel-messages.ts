/** The KernelMessages port of a machine whose kernel messages a scenario writes. */
import { LatestCell } from "../src/concurrency/latest-cell.ts";
import type { KernelMessage, KernelMessages } from "../src/ports/kernel-messages.ts";

export class FakeKernelMessages implements KernelMessages {
  readonly #said: LatestCell<readonly KernelMessage[]>;
  #next = 0;
  /** Why the messages cannot be read. */
  trouble: string | undefined;

  constructor() {
    this.#said = new LatestCell<readonly KernelMessage[]>([]);
  }

  say(...lines: readonly string[]): void {
    const messages = lines.map((text) => ({ sequence: this.#next++, text }));
    this.#said.set([...this.#said.value, ...messages]);
  }

  /** The machine restarts: sequence numbers start at 0 again. */
  restart(): void {
    this.#next = 0;
    this.#said.set([]);
  }

  async requireReadable(): Promise<void> {
    if (this.trouble !== undefined) throw new Error(this.trouble);
  }

  async *follow(signal: AbortSignal): AsyncIterable<KernelMessage> {
    for (let read = 0; ; ) {
      await this.requireReadable();
      const { version, value } = this.#said;
      yield* value.slice(read);
      read = value.length;
      await this.#said.changed(version, signal);
    }
  }
}
