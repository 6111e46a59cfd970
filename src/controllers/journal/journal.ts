/**
 * The Journal port over the HostFiles port, so that the simulator runs the same code on a disk that crashes.
 *
 * Records that arrive while a write is under way share the next one, so a hundred pods that start at once cost a few syncs. A write that
 * failed is rejected to all who shared it; the next one goes to the same place and cuts what it left. Notes go with the records; when none comes
 * they go alone, without a sync, so that who asks on the node finds them. Segments follow each other by size; when all together are too large,
 * what still matters is written as one new segment, and the old ones go.
 */
import { assert } from "../../base/assert.ts";
import { type CompactionLimits, compact } from "../../domain/journal/compaction.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import type { Clock } from "../../ports/clock.ts";
import { HostFileError, type HostFiles } from "../../ports/host-files.ts";
import type { Journal } from "../../ports/journal.ts";
import { JOURNAL_LIST_ITEMS_MAX, JOURNAL_RECORD_BYTES_MAX, JOURNAL_TEXT_CHARS_MAX } from "../limits.ts";
import { encodeLine } from "./segment-text.ts";
import { type JournalProblem, type Segment, SegmentFolder, type StoredJournal } from "./segments.ts";

export interface JournalLimits extends CompactionLimits {
  readonly segmentBytesMax: number;
  /** Above it the journal is compacted to `bytesTarget`. */
  readonly totalBytesMax: number;
  readonly batchBytesMax: number;
  /** Notes that wait for a record to go with; above it they go alone. */
  readonly notesBytesMax: number;
}

const MIB = 1024 * 1024;

const PUT_OFFS_MAX = 3;
/** So long a note waits for a record to go with. */
const NOTES_WAIT_MS = 1_000;

const LIMITS: JournalLimits = {
  segmentBytesMax: MIB,
  totalBytesMax: 4 * MIB,
  bytesTarget: 2 * MIB,
  batchBytesMax: MIB,
  notesBytesMax: MIB / 16,
  finishedKeptMs: 24 * 3600 * 1000,
  finishedKeptMin: 500,
};

export interface JournalOptions {
  readonly files: HostFiles;
  /** An absolute path; made when the first record is written. */
  readonly folder: string;
  readonly clock: Clock;
  readonly onProblem: (problem: JournalProblem) => void;
  readonly limits?: Partial<JournalLimits>;
}

export interface OpenJournal extends Journal {
  /** Writes what is noted. After it, notes are not written: another process may be the writer now. */
  rest(): Promise<void>;
}

export const createJournal = (options: JournalOptions): OpenJournal => new SegmentedJournal(options);

interface Pending {
  readonly line: Uint8Array;
  /** Of a record; a note has nobody waiting. */
  readonly waiter: { resolve(): void; reject(error: unknown): void } | undefined;
}

class SegmentedJournal implements OpenJournal {
  readonly #options: JournalOptions;
  readonly #limits: JournalLimits;
  readonly #segments: SegmentFolder;
  #replayed = false;
  #current: Segment | undefined;
  #nextNumber = 1;
  #totalBytes = 0;
  #compactAboveBytes: number;
  #pending: Pending[] = [];
  #noteBytes = 0;
  /** Ends the wait of the notes for a record. */
  #cancelNotes: (() => void) | undefined;
  #notesDue = false;
  #resting = false;
  #writing: Promise<void> | undefined;
  #putOffs = 0;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#compactAboveBytes = this.#limits.totalBytesMax;
    this.#segments = new SegmentFolder(options);
  }

  async replay(): Promise<readonly JournalRecord[]> {
    assert(!this.#replayed, "the journal is replayed once, at the start");
    const stored = await this.#segments.readAll();
    this.#current = stored.current;
    this.#nextNumber = stored.nextNumber;
    this.#totalBytes = stored.totalBytes;
    if (stored.current !== undefined) await this.#settle(stored.current);
    await this.#segments.removeBefore(stored.baseNumber);
    this.#replayed = true;
    return stored.records.map(({ record }) => record);
  }

  append(record: JournalRecord): Promise<void> {
    return new Promise((resolve, reject) => this.#add({ line: encode(record), waiter: { resolve, reject } }));
  }

  note(record: JournalRecord): void {
    const line = encode(record);
    this.#noteBytes += line.length;
    this.#add({ line, waiter: undefined });
  }

  /** What the process before us wrote and did not live to sync is on disk before anyone acts on it; its torn tail is cut. */
  async #settle(current: Segment): Promise<void> {
    try {
      await this.#segments.append(current, new Uint8Array(), "synced");
    } catch (error) {
      this.#options.onProblem({ kind: "failed", what: "sync the journal", error });
    }
  }

  async rest(): Promise<void> {
    this.#resting = true;
    this.#cancelNotes?.();
    this.#notesDue = this.#pending.length > 0;
    this.#writeSoon();
    await this.#writing;
  }

  #add(pending: Pending): void {
    assert(this.#replayed, "the journal is replayed before it is written");
    this.#pending.push(pending);
    this.#writeSoon();
    this.#awaitRecord();
  }

  #awaitRecord(): void {
    if (this.#writing !== undefined || this.#cancelNotes !== undefined || this.#resting) return;
    this.#cancelNotes = this.#options.clock.after(NOTES_WAIT_MS, () => {
      this.#cancelNotes = undefined;
      this.#notesDue = this.#pending.length > 0;
      this.#writeSoon();
    });
  }

  #writeSoon(): void {
    if (this.#writing === undefined && this.#isWorthWriting()) this.#writing = this.#writeAll();
  }

  #isWorthWriting(): boolean {
    return (
      this.#notesDue ||
      this.#noteBytes > this.#limits.notesBytesMax ||
      this.#pending.some((each) => each.waiter !== undefined)
    );
  }

  async #writeAll(): Promise<void> {
    await Promise.resolve(); // Whoever appends in this turn shares the first write.
    while (this.#isWorthWriting()) {
      this.#notesDue = false;
      const batch = this.#takeBatch();
      const sync = batch.some(({ waiter }) => waiter !== undefined) ? "synced" : "unsynced";
      try {
        await this.#write(
          batch.map((each) => each.line),
          sync,
        );
      } catch (error) {
        this.#rejectAll(batch, error);
        continue;
      }
      for (const { waiter } of batch) waiter?.resolve();
      if (this.#totalBytes > this.#compactAboveBytes) await this.#compact();
    }
    this.#writing = undefined;
    if (this.#pending.length > 0) this.#awaitRecord();
  }

  #rejectAll(batch: readonly Pending[], error: unknown): void {
    for (const { waiter } of batch) waiter?.reject(error);
    const notes = batch.filter((each) => each.waiter === undefined).length;
    if (notes > 0) this.#options.onProblem({ kind: "failed", what: `write ${notes} notes`, error });
  }

  #takeBatch(): readonly Pending[] {
    let bytes = 0;
    const over = this.#pending.findIndex((each) => {
      bytes += each.line.length;
      return bytes > this.#limits.batchBytesMax;
    });
    const count = over === -1 ? this.#pending.length : Math.max(1, over);
    const batch = this.#pending.slice(0, count);
    this.#pending = this.#pending.slice(count);
    for (const { line, waiter } of batch) if (waiter === undefined) this.#noteBytes -= line.length;
    return batch;
  }

  async #write(lines: readonly Uint8Array[], sync: "synced" | "unsynced"): Promise<void> {
    const before = this.#current;
    const isFull = before === undefined || before.bytes >= this.#limits.segmentBytesMax;
    const segment = isFull ? await this.#begin(false, []) : before;
    try {
      this.#current = await this.#segments.append(segment, Buffer.concat(lines), sync);
    } catch (error) {
      // Where the disk failed, or somebody took the file away, we do not write again.
      if (!isDiskFull(error)) this.#current = undefined;
      throw error;
    }
    this.#totalBytes += this.#current.bytes - segment.bytes;
  }

  async #begin(base: boolean, lines: readonly Uint8Array[]): Promise<Segment> {
    const number = this.#nextNumber;
    // Should it fail, it may be there all the same and, as a base, hide all before it: what comes after must be after it.
    this.#nextNumber += 1;
    this.#current = undefined;
    const segment = await this.#segments.create(number, base, lines);
    this.#current = segment;
    this.#totalBytes += segment.bytes;
    return segment;
  }

  async #compact(): Promise<void> {
    try {
      const stored = await this.#segments.readAll();
      this.#assertComplete(stored);
      const kept = compact(stored.records, this.#options.clock.wallMs(), this.#limits);
      const segment = await this.#begin(
        true,
        kept.map(({ line }) => line),
      );
      await this.#segments.removeBefore(segment.number);
      this.#totalBytes = segment.bytes;
      this.#compactAboveBytes = Math.max(this.#limits.totalBytesMax, 2 * segment.bytes);
      this.#putOffs = 0;
    } catch (error) {
      this.#compactAboveBytes = this.#totalBytes + this.#limits.segmentBytesMax;
      this.#options.onProblem({ kind: "failed", what: "compact the journal", error });
    }
  }

  /** Compaction forgets what it could not read. A passing failure must not cost facts; a lasting one must not let the journal grow for ever. */
  #assertComplete({ unreadCount }: StoredJournal): void {
    if (unreadCount === 0 || this.#putOffs === PUT_OFFS_MAX) return;
    this.#putOffs += 1;
    throw new Error(`${unreadCount} segments cannot be read`);
  }
}

const isDiskFull = (error: unknown) => error instanceof HostFileError && error.code === "noSpace";

/** Somebody's endless message is cut; nothing that decides is long. */
function encode(record: JournalRecord): Uint8Array {
  const line = encodeLine(record);
  if (line.length <= JOURNAL_RECORD_BYTES_MAX) return line;
  return encodeLine(shortened(record));
}

/** With every text and list cut, at any depth. */
function shortened(value: unknown): unknown {
  if (typeof value === "string") return cut(value);
  if (Array.isArray(value)) return value.slice(0, JOURNAL_LIST_ITEMS_MAX).map(shortened);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shortened(field)]));
}

const cut = (text: string) =>
  text.length > JOURNAL_TEXT_CHARS_MAX ? `${text.slice(0, JOURNAL_TEXT_CHARS_MAX)}...` : text;
