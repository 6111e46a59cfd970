/**
 * Tells the cluster when the whole machine was out of memory, from the kernel's own messages. Each kill is told once: how far it has read is kept with
 * the boot that it was read in, so that one that happened while no agent ran is told by the next, and none is told again by every agent after.
 */

import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import { pause } from "../../concurrency/sleep.ts";
import { nodeSubject } from "../../domain/events/recorded-event.ts";
import { type OomReading, readOomLine, systemOomMessage } from "../../domain/host/oom-kill.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import { type HostFiles, isMissing } from "../../ports/host-files.ts";
import type { KernelMessages } from "../../ports/kernel-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { Machine } from "../../ports/machine.ts";
import { OOM_FILE_BYTES_MAX } from "../limits.ts";

const AGAIN_MS = 10_000;

export interface OomWatcherParts {
  readonly messages: Pick<KernelMessages, "follow">;
  readonly machine: Pick<Machine, "facts">;
  readonly files: Pick<HostFiles, "read" | "writeAtomically">;
  readonly clock: Clock;
  readonly events: EventSink;
  readonly log: Log;
  readonly nodeName: string;
  /** Where it is kept how far was read. */
  readonly toldFile: string;
}

interface Told {
  readonly bootId: string;
  /** Of the last kill that was told. */
  readonly sequence: number;
}

export async function runOomWatcher(parts: OomWatcherParts, shutdown: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  const teller = new OomTeller(parts);
  while (!shutdown.aborted) {
    try {
      let reading: OomReading;
      for await (const { sequence, text } of parts.messages.follow(shutdown)) {
        const next = readOomLine(reading, text);
        reading = next.reading;
        const message = next.kill === undefined ? undefined : systemOomMessage(next.kill);
        if (message !== undefined) await teller.tell(sequence, message);
      }
    } catch (error) {
      if (shutdown.aborted) return;
      log.error("The kernel's messages cannot be followed; trying again", error);
      await pause(clock, AGAIN_MS, shutdown);
    }
  }
}

class OomTeller {
  readonly #parts: OomWatcherParts;
  /** Read when there is something to tell, which is seldom. */
  #told: Told | undefined;

  constructor(parts: OomWatcherParts) {
    this.#parts = parts;
  }

  async tell(sequence: number, message: string): Promise<void> {
    const { events, nodeName, log } = this.#parts;
    const told = (this.#told ??= await this.#toldBefore());
    if (sequence <= told.sequence) return;
    log.info(1, "Got sys oom event", { message });
    events.emit(nodeSubject(nodeName), "Warning", "SystemOOM", message);
    this.#told = { ...told, sequence };
    await keepTold(this.#parts, this.#told);
  }

  async #toldBefore(): Promise<Told> {
    const { bootId } = await this.#parts.machine.facts();
    const kept = await readTold(this.#parts);
    return kept?.bootId === bootId ? kept : { bootId, sequence: -1 };
  }
}

/** Undefined where there is none, or none that can be read: then a kill may be told twice, never not at all. */
async function readTold({ files, toldFile, log }: OomWatcherParts): Promise<Told | undefined> {
  try {
    const value = JSON.parse(utf8Text(await files.read(toldFile, OOM_FILE_BYTES_MAX)) ?? "") as Partial<Told> | null;
    if (typeof value?.bootId !== "string" || typeof value.sequence !== "number") throw new Error("it is none of ours");
    return { bootId: value.bootId, sequence: value.sequence };
  } catch (error) {
    if (!isMissing(error)) log.error("How far the kernel's messages were read is not known", error, { toldFile });
    return undefined;
  }
}

/** A disk that is full must not keep the next kill from being told. */
async function keepTold({ files, toldFile, log }: OomWatcherParts, told: Told): Promise<void> {
  try {
    await files.writeAtomically(toldFile, utf8Bytes(JSON.stringify(told)), 0o600);
  } catch (error) {
    log.error("How far the kernel's messages were read cannot be kept", error, { toldFile });
  }
}
