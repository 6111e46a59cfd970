/**
 * Emits an event for each out-of-memory kill of the whole machine, from the kernel's messages. Each kill is reported
 * once: a file keeps the boot ID and the sequence number of the last reported kill. The next kubelet process reports
 * kills that happened while none ran, and none is reported again after a restart.
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
  /** The file that keeps the position of the last reported kill. */
  readonly reportedFile: string;
}

interface Reported {
  readonly bootId: string;
  /** The sequence number of the last kill that was reported. */
  readonly sequence: number;
}

export async function runOomWatcher(parts: OomWatcherParts, shutdown: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  const reporter = new OomReporter(parts);
  while (!shutdown.aborted) {
    try {
      let reading: OomReading;
      for await (const { sequence, text } of parts.messages.follow(shutdown)) {
        const next = readOomLine(reading, text);
        reading = next.reading;
        const message = next.kill === undefined ? undefined : systemOomMessage(next.kill);
        if (message !== undefined) await reporter.report(sequence, message);
      }
    } catch (error) {
      if (shutdown.aborted) return;
      log.error("Failed to follow the kernel's messages, retrying", error);
      await pause(clock, AGAIN_MS, shutdown);
    }
  }
}

class OomReporter {
  readonly #parts: OomWatcherParts;
  /** Read at the first kill, which is rare. */
  #reported: Reported | undefined;

  constructor(parts: OomWatcherParts) {
    this.#parts = parts;
  }

  async report(sequence: number, message: string): Promise<void> {
    const { events, nodeName, log } = this.#parts;
    const reported = (this.#reported ??= await this.#reportedBefore());
    if (sequence <= reported.sequence) return;
    log.info(1, "Got sys oom event", { message });
    events.emit(nodeSubject(nodeName), "Warning", "SystemOOM", message);
    this.#reported = { ...reported, sequence };
    await keepReported(this.#parts, this.#reported);
  }

  async #reportedBefore(): Promise<Reported> {
    const { bootId } = await this.#parts.machine.facts();
    const kept = await readReported(this.#parts);
    return kept?.bootId === bootId ? kept : { bootId, sequence: -1 };
  }
}

/** Undefined if the file is missing or unreadable: then a kill may be reported twice, but none is lost. */
async function readReported({ files, reportedFile, log }: OomWatcherParts): Promise<Reported | undefined> {
  try {
    const value = JSON.parse(
      utf8Text(await files.read(reportedFile, OOM_FILE_BYTES_MAX)) ?? "",
    ) as Partial<Reported> | null;
    if (typeof value?.bootId !== "string" || typeof value.sequence !== "number") throw new Error("it is none of ours");
    return { bootId: value.bootId, sequence: value.sequence };
  } catch (error) {
    if (!isMissing(error))
      log.error("Failed to read the stored position in the kernel's messages", error, { reportedFile });
    return undefined;
  }
}

/** A full disk must not prevent the report of the next kill. */
async function keepReported({ files, reportedFile, log }: OomWatcherParts, reported: Reported): Promise<void> {
  try {
    await files.writeAtomically(reportedFile, utf8Bytes(JSON.stringify(reported)), 0o600);
  } catch (error) {
    log.error("Failed to store the position in the kernel's messages", error, { reportedFile });
  }
}
