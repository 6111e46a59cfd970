/**
 * The KernelMessages port over /dev/kmsg, or a file or pipe of its form. Node cannot wait for a device without holding one of its four threads for
 * as long, so it is read without waiting, once a second.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { sleep } from "../../concurrency/sleep.ts";
import type { Clock } from "../../ports/clock.ts";
import type { KernelMessage, KernelMessages } from "../../ports/kernel-messages.ts";
import { errnoOf } from "../host/errno.ts";

const LOOK_EVERY_MS = 1_000;
/** The kernel refuses to give a message to a smaller buffer. */
const BUFFER_BYTES = 16_384;

export interface KernelMessagesOptions {
  readonly clock: Clock;
  readonly path?: string;
}

export function createKernelMessages({ clock, path = "/dev/kmsg" }: KernelMessagesOptions): KernelMessages {
  const openIt = () => open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return {
    async requireReadable() {
      await (await openIt()).close();
    },
    async *follow(signal) {
      const file = await openIt();
      try {
        const lines = new Lines();
        for (;;) {
          const chunk = await readSome(file);
          if (chunk === "nothing") await sleep(clock, LOOK_EVERY_MS, signal);
          else if (chunk !== "overwritten") yield* lines.add(chunk);
          signal.throwIfAborted();
        }
      } finally {
        await file.close();
      }
    },
  };
}

async function readSome(file: FileHandle): Promise<Uint8Array | "nothing" | "overwritten"> {
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(BUFFER_BYTES), 0, BUFFER_BYTES, null);
    return bytesRead === 0 ? "nothing" : buffer.subarray(0, bytesRead);
  } catch (error) {
    if (errnoOf(error) === "EAGAIN") return "nothing";
    // The kernel had more to say than it keeps: it goes on with the oldest that is left.
    if (errnoOf(error) === "EPIPE") return "overwritten";
    throw error;
  }
}

/** A device gives whole messages, a pipe gives what comes. */
class Lines {
  readonly #decoder = new TextDecoder();
  #rest = "";

  *add(chunk: Uint8Array): Generator<KernelMessage, void, void> {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const message = parseMessage(line);
      if (message !== undefined) yield message;
    }
  }
}

/** `priority,sequence,microseconds,flags;text`. The lines that follow one and begin with a space say more of it; they, and what has no head, are none. */
function parseMessage(line: string): KernelMessage | undefined {
  const head = /^\d+,(?<sequence>\d+),\d+,[^;]*;(?<text>.*)$/.exec(line)?.groups;
  return head === undefined ? undefined : { sequence: Number(head["sequence"]), text: head["text"] ?? "" };
}
