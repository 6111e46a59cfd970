/** The monitor of a running qemu: commands with their answers, and events. Every wait has a limit. */
import { connectLines, type Lines } from "./lines.ts";

interface QmpMessage {
  readonly id?: number;
  readonly return?: unknown;
  readonly error?: { readonly class: string; readonly desc: string };
  readonly event?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

interface Waiter {
  readonly take: (message: QmpMessage) => boolean;
  readonly fail: (trouble: Error) => void;
}

const ANSWER_MS = 60_000;

export class Qmp {
  readonly #waiters = new Set<Waiter>();
  #lines: Lines | undefined;
  #ended: Error | undefined;
  #nextId = 1;

  private constructor() {}

  static async connect(path: string): Promise<Qmp> {
    const qmp = new Qmp();
    qmp.#lines = await connectLines(path, {
      onMessage: (message) => qmp.#take(message as QmpMessage),
      onEnd: (trouble) => qmp.#end(trouble),
    });
    // qemu's greeting may come before or after this command, and qemu allows no other command before it.
    await qmp.execute("qmp_capabilities");
    return qmp;
  }

  async execute(command: string, args: object = {}, limitMs = ANSWER_MS): Promise<unknown> {
    const id = this.#nextId++;
    const answer = this.#wait(`an answer to ${command}`, limitMs, (message) => message.id === id);
    this.#lines?.send({ execute: command, arguments: args, id });
    const { error, return: value } = await answer;
    if (error !== undefined) throw new Error(`qemu refused ${command}: ${error.desc}`);
    return value;
  }

  /** Runs a command of the human monitor, which answers with text; for commands that QMP lacks. */
  async human(line: string): Promise<string> {
    return (await this.execute("human-monitor-command", { "command-line": line })) as string;
  }

  /** Call this before the action that causes the event. */
  async event(name: string, isIt: (data: Readonly<Record<string, unknown>>) => boolean, limitMs = ANSWER_MS) {
    await this.#wait(`the event ${name}`, limitMs, (message) => message.event === name && isIt(message.data ?? {}));
  }

  async close(): Promise<void> {
    await this.#lines?.close();
  }

  #wait(what: string, limitMs: number, isIt: (message: QmpMessage) => boolean): Promise<QmpMessage> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        act();
      };
      const waiter: Waiter = {
        take: (message) => {
          if (!isIt(message)) return false;
          settle(() => resolve(message));
          return true;
        },
        fail: (trouble) => settle(() => reject(new Error(`qemu ended before ${what}`, { cause: trouble }))),
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error(`waited ${limitMs} ms in vain for ${what}`))),
        limitMs,
      );
      this.#waiters.add(waiter);
    });
  }

  #take(message: QmpMessage): void {
    for (const waiter of this.#waiters) if (waiter.take(message)) return;
  }

  #end(trouble: Error): void {
    this.#ended = trouble;
    for (const waiter of this.#waiters) waiter.fail(trouble);
  }
}
