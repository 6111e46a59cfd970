/**
 * Reads a container's log for one client, and optionally follows it. A follower tracks its open file, not the name.
 * After a rotation it reads the old file to its end, then all parts that came after it, then the new file from its
 * beginning. So rotation loses and repeats nothing, even if several rotations happen between two checks. A follow ends
 * when the container has stopped and everything has been read.
 */
import { errorText } from "../base/error-text.ts";
import { goQuote } from "../base/go-text.ts";
import { linkSignals } from "../concurrency/abort.ts";
import { Notifier } from "../concurrency/notifier.ts";
import { sleep } from "../concurrency/sleep.ts";
import { waitForChange } from "../concurrency/wait-for-change.ts";
import type { LogFormatter } from "../domain/logs/log-formatter.ts";
import { compressedName, type RotatedLog, rotatedLogs } from "../domain/logs/rotated-logs.ts";
import type { Clock } from "../ports/clock.ts";
import { type HostFiles, listIfThere } from "../ports/host-files.ts";
import type { LogFile, LogFiles } from "../ports/log-files.ts";
import { LogPump } from "./log-pump.ts";
import { tailStart } from "./log-tail.ts";

/** Minimum interval between two reads of a busy log; shorter intervals would cost a system call per line. */
const PACE_MS = 20;
/** Hints may be lost. */
const LOOK_AGAIN_MS = 2_000;
/** After a rotation the runtime may still write buffered output to the old log. */
const QUIET_MS = 500;
const QUIET_LOOK_MS = 50;
/** Logs with the same beginning are the same log: the timestamp of the first line is unique. */
const BEGINNING_BYTES = 128;

export interface FollowedContainer {
  /** Whether the container may still write. */
  isRunning(signal: AbortSignal): Promise<boolean>;
  /** Calls `changed` whenever `isRunning` may have changed. The returned function stops the watch. */
  watch(changed: () => void): () => void;
}

export interface ReadLogOptions {
  readonly path: string;
  readonly tailLines: number | undefined;
  /** Undefined: read only the current content. */
  readonly follow: FollowedContainer | undefined;
  readonly formatter: LogFormatter;
  readonly logFiles: Pick<LogFiles, "open" | "openCompressed" | "identityAt">;
  readonly files: Pick<HostFiles, "list" | "watch">;
  readonly clock: Clock;
  /** Resolves when the next chunk can be written. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
}

/** Returns an error message in the Go kubelet's words. */
export async function readLog(options: ReadLogOptions, signal: AbortSignal): Promise<string | undefined> {
  const { path, tailLines, follow, formatter, logFiles } = options;
  const pump = new LogPump(formatter, options.write, signal);
  try {
    const file = await logFiles.open(path);
    if (file === undefined) {
      return `failed to try resolving symlinks in path ${goQuote(path)}: lstat ${path}: no such file or directory`;
    }
    await using reader = new LogReader(options, pump, file);
    if (tailLines !== undefined) reader.offset = await tailStart(file, tailLines, signal);
    if (follow === undefined) await reader.drain();
    else await reader.follow(follow, signal);
    await pump.endFile();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return `failed to read log file ${goQuote(path)}: ${errorText(error)}`;
  }
  return formatter.state.kind === "failed" ? formatter.state.why : undefined;
}

class LogReader implements AsyncDisposable {
  offset = 0;
  readonly #options: ReadLogOptions;
  readonly #pump: LogPump;
  #file: LogFile;
  /** The parts older than the current file. */
  #known: ReadonlySet<string> = new Set();

  constructor(options: ReadLogOptions, pump: LogPump, file: LogFile) {
    this.#options = options;
    this.#pump = pump;
    this.#file = file;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#file[Symbol.asyncDispose]());
  }

  drain(): Promise<boolean> {
    return this.#pump.drain(async (into) => {
      const bytes = await this.#file.read(into, this.offset);
      this.offset += bytes;
      return bytes;
    });
  }

  async follow(container: FollowedContainer, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    using linked = linkSignals(signal);
    const hints = new Notifier();
    const unwatch = container.watch(hints.notify);
    const hinting = this.#hint(hints, linked.signal);
    try {
      await this.#noteParts();
      while (this.#pump.isOpen) {
        const seen = hints.version;
        const lookedMs = clock.monotonicMs();
        const mayGrow = await container.isRunning(signal);
        await this.drain();
        if (await this.#moveOn(mayGrow, signal)) continue;
        if (!mayGrow) break;
        await waitForChange(clock, [{ cell: hints, seen }], LOOK_AGAIN_MS, signal);
        await sleep(clock, Math.max(0, lookedMs + PACE_MS - clock.monotonicMs()), signal);
      }
    } finally {
      unwatch();
      linked.abort(new Error("no longer followed"));
      await hinting;
    }
  }

  async #hint(hints: Notifier, signal: AbortSignal): Promise<void> {
    for await (const _ of this.#options.files.watch(this.#directory, signal)) hints.notify();
  }

  get #directory(): string {
    return this.#options.path.slice(0, this.#options.path.lastIndexOf("/"));
  }

  async #parts(): Promise<readonly RotatedLog[]> {
    const names = await listIfThere(this.#options.files, this.#directory);
    return rotatedLogs(this.#options.path.slice(this.#directory.length + 1), names).inUse;
  }

  async #noteParts(): Promise<void> {
    const parts = await this.#parts();
    const own = await this.#indexOf(parts, this.#file);
    this.#known = new Set(parts.slice(0, own < 0 ? parts.length : own).map(({ part }) => part));
  }

  /** Switches to the next log if there is one, and reads the parts in between on the way. */
  async #moveOn(mayGrow: boolean, signal: AbortSignal): Promise<boolean> {
    const { path, logFiles } = this.#options;
    if ((await logFiles.identityAt(path)) === this.#file.identity) return this.#beginAgainIfCut();
    const next = await logFiles.open(path);
    if (next === undefined || next.identity === this.#file.identity) {
      await next?.[Symbol.asyncDispose]();
      return false;
    }
    const old = this.#file;
    try {
      if (mayGrow) await this.#waitForQuiet(signal);
      else await this.drain();
      await this.#pump.endFile();
      const parts = await this.#parts();
      const last = await this.#indexOf(parts, next);
      const before = parts.slice(0, last < 0 ? parts.length : last);
      for (const part of before.filter((each) => !this.#known.has(each.part))) await this.#readPart(part);
      this.#known = new Set(before.map(({ part }) => part));
    } finally {
      this.#file = next;
      this.offset = 0;
      await old[Symbol.asyncDispose]();
    }
    return true;
  }

  /** Handles a file that was truncated and is still being written. */
  async #beginAgainIfCut(): Promise<boolean> {
    if ((await this.#file.sizeBytes()) >= this.offset) return false;
    await this.#pump.endFile();
    this.offset = 0;
    return true;
  }

  async #waitForQuiet(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let quietSinceMs = clock.monotonicMs(); clock.monotonicMs() - quietSinceMs < QUIET_MS; ) {
      await sleep(clock, QUIET_LOOK_MS, signal);
      if (await this.drain()) quietSinceMs = clock.monotonicMs();
    }
  }

  /** The index of an open log in `parts`; -1 if it is not among them. */
  async #indexOf(parts: readonly RotatedLog[], file: LogFile): Promise<number> {
    for (const [index, { name, isCompressed }] of parts.entries()) {
      if (!isCompressed && (await this.#options.logFiles.identityAt(`${this.#directory}/${name}`)) === file.identity) {
        return index;
      }
    }
    return -1;
  }

  /** Skips the log that was just read: it is among the parts under its new name, plain or compressed. */
  async #readPart({ part, isCompressed }: RotatedLog): Promise<void> {
    const path = `${this.#directory}/${part}`;
    await using plain = isCompressed ? undefined : await this.#options.logFiles.open(path);
    // The part may have been compressed since the directory was listed.
    if (plain === undefined) await this.#readCompressed(compressedName(path));
    else if (plain.identity !== this.#file.identity) {
      let offset = 0;
      await this.#pump.drain(async (into) => {
        const bytes = await plain.read(into, offset);
        offset += bytes;
        return bytes;
      });
    }
    await this.#pump.endFile();
  }

  async #readCompressed(path: string): Promise<void> {
    if (await this.#isOwnBeginning(path)) return;
    await using packed = await this.#options.logFiles.openCompressed(path);
    if (packed !== undefined) await this.#pump.drain((into) => packed.read(into));
  }

  async #isOwnBeginning(path: string): Promise<boolean> {
    await using packed = await this.#options.logFiles.openCompressed(path);
    const [theirs, ours] = [new Uint8Array(BEGINNING_BYTES), new Uint8Array(BEGINNING_BYTES)];
    const lengths = [await packed?.read(theirs), await this.#file.read(ours, 0)];
    return lengths[0] === lengths[1] && theirs.every((byte, index) => byte === ours[index]);
  }
}
