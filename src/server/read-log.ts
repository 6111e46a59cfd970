/**
 * Reads a container's log for one asker, and follows it where that is asked for. A follower goes by the file that it has open and not by its
 * name: a log that was rotated is read to its end, then every part that came after it, then the new one from its beginning. So rotation leaves
 * no gap and repeats nothing, also when several come between two looks. It ends when the container runs no more and all is read.
 */
import { errorText } from "../base/error-text.ts";
import { goQuote } from "../base/go-text.ts";
import { changedWithin } from "../concurrency/changed-within.ts";
import { LatestCell } from "../concurrency/latest-cell.ts";
import { linkSignals } from "../concurrency/link-signals.ts";
import { sleep } from "../concurrency/sleep.ts";
import type { LogFormatter } from "../domain/logs/log-formatter.ts";
import { compressedName, type RotatedLog, rotatedLogs } from "../domain/logs/rotated-logs.ts";
import type { Clock } from "../ports/clock.ts";
import { type HostFiles, listIfThere } from "../ports/host-files.ts";
import type { LogFile, LogFiles } from "../ports/log-files.ts";
import { LogPump } from "./log-pump.ts";
import { tailStart } from "./log-tail.ts";

/** Between two looks of a follower at a log that is written all the time: more would be a system call for each line. */
const PACE_MS = 20;
/** A hint may get lost. */
const LOOK_AGAIN_MS = 2_000;
/** After the new log is there the runtime may still write to the old one what it had taken in before. */
const QUIET_MS = 500;
const QUIET_LOOK_MS = 50;
/** Two logs that begin alike are one: their first line has a time of its own. */
const BEGINNING_BYTES = 128;

export interface FollowedContainer {
  /** Whether it may still write. */
  isRunning(signal: AbortSignal): Promise<boolean>;
  /** Calls whenever the answer may be another. The returned function ends it. */
  watch(changed: () => void): () => void;
}

export interface ReadLogOptions {
  readonly path: string;
  readonly tailLines: number | undefined;
  /** Undefined: what is there now, and no more. */
  readonly follow: FollowedContainer | undefined;
  readonly formatter: LogFormatter;
  readonly logFiles: Pick<LogFiles, "open" | "openCompressed" | "identityAt">;
  readonly files: Pick<HostFiles, "list" | "watch">;
  readonly clock: Clock;
  /** Resolves when there is room for more. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
}

/** Answers what went wrong, in the Go kubelet's words. */
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
  /** Parts that were written before the file that is read now. */
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
    const hints = new LatestCell<undefined>(undefined);
    const unwatch = container.watch(() => hints.set(undefined));
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
        await changedWithin(clock, [{ cell: hints, seen }], LOOK_AGAIN_MS, signal);
        await sleep(clock, Math.max(0, lookedMs + PACE_MS - clock.monotonicMs()), signal);
      }
    } finally {
      unwatch();
      linked.abort(new Error("no longer followed"));
      await hinting;
    }
  }

  async #hint(hints: LatestCell<undefined>, signal: AbortSignal): Promise<void> {
    for await (const _ of this.#options.files.watch(this.#folder, signal)) hints.set(undefined);
  }

  get #folder(): string {
    return this.#options.path.slice(0, this.#options.path.lastIndexOf("/"));
  }

  async #parts(): Promise<readonly RotatedLog[]> {
    const names = await listIfThere(this.#options.files, this.#folder);
    return rotatedLogs(this.#options.path.slice(this.#folder.length + 1), names).inUse;
  }

  async #noteParts(): Promise<void> {
    const parts = await this.#parts();
    const own = await this.#indexOf(parts, this.#file);
    this.#known = new Set(parts.slice(0, own < 0 ? parts.length : own).map(({ part }) => part));
  }

  /** To the log that came after this one, if there is one; what lies between the two is read on the way. */
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

  /** Somebody has cut the file short and goes on writing to it. */
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

  /** Which of the parts an open log is; -1 for none of them. */
  async #indexOf(parts: readonly RotatedLog[], file: LogFile): Promise<number> {
    for (const [index, { name, isCompressed }] of parts.entries()) {
      if (!isCompressed && (await this.#options.logFiles.identityAt(`${this.#folder}/${name}`)) === file.identity) {
        return index;
      }
    }
    return -1;
  }

  /** The one that was just read is among them, under its new name: as a whole, or as what was made of it. */
  async #readPart({ part, isCompressed }: RotatedLog): Promise<void> {
    const path = `${this.#folder}/${part}`;
    await using plain = isCompressed ? undefined : await this.#options.logFiles.open(path);
    // It may be compressed since it was listed.
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
