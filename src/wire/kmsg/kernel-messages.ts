/**
 * The KernelMessages port over /dev/kmsg, or a file or pipe of the same format. A blocking read would occupy one of
 * Node's four threads for as long as it waits, so the device is polled without blocking, once a second.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { sleep } from "../../concurrency/sleep.ts";
import type { Clock } from "../../ports/clock.ts";
import type { KernelMessage, KernelMessages } from "../../ports/kernel-messages.ts";
import { errnoOf } from "../host/errno.ts";

const LOOK_EVERY_MS = 1_000;
/** The kernel rejects a read whose buffer is smaller than the message. */
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
    // The kernel overwrote unread messages; the next read continues with the oldest one left.
    if (errnoOf(error) === "EPIPE") return "overwritten";
    throw error;
  }
}

/** A device returns whole messages; a pipe returns arbitrary pieces. */
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

/**
 * Parses `priority,sequence,microseconds,flags;text`. Undefined for a line without this head, and for a continuation
 * line, which begins with a space.
 */
function parseMessage(line: string): KernelMessage | undefined {
  const head = /^\d+,(?<sequence>\d+),\d+,[^;]*;(?<text>.*)$/.exec(line)?.groups;
  return head === undefined ? undefined : { sequence: Number(head["sequence"]), text: head["text"] ?? "" };
}
