/**
 * Implements the Journal port on the HostFiles port, so that the simulator runs the same code on a crashing disk.
 *
 * Records that arrive during a write share the next write, so a hundred pods that start at once cost only a few syncs.
 * A failed write rejects all records in it. After a full disk the next write starts at the same offset and truncates
 * the remains; after any other error it starts a new segment. Notes are written together with the next records. If no
 * record follows, they are written alone and without a sync, so that `explain` on the node finds them. A full segment
 * is followed by a new one. When the journal exceeds its total size, all records that still matter are written to one
 * new segment and the old segments are deleted.
 */
import { assert } from "../../base/assert.ts";
import { type CompactionLimits, compact } from "../../domain/journal/compaction.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import type { Clock } from "../../ports/clock.ts";
import { HostFileError, type HostFiles } from "../../ports/host-files.ts";
import type { Journal } from "../../ports/journal.ts";
import { JOURNAL_LIST_ITEMS_MAX, JOURNAL_RECORD_BYTES_MAX, JOURNAL_TEXT_CHARS_MAX } from "../limits.ts";
import { encodeLine } from "./segment-text.ts";
import { type JournalProblem, type Segment, SegmentDirectory, type StoredJournal } from "./segments.ts";

export interface JournalLimits extends CompactionLimits {
  readonly segmentBytesMax: number;
  /** Above this size the journal is compacted to `bytesTarget`. */
  readonly totalBytesMax: number;
  readonly batchBytesMax: number;
  /** Size of the notes that may wait for a record; above it they are written alone. */
  readonly notesBytesMax: number;
}

const MIB = 1024 * 1024;

const PUT_OFFS_MAX = 3;
/** How long a note waits for a record to share the write. */
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
  /** An absolute path; the directory is created with the first record. */
  readonly directory: string;
  readonly clock: Clock;
  readonly onProblem: (problem: JournalProblem) => void;
  readonly limits?: Partial<JournalLimits>;
}

export interface OpenJournal extends Journal {
  /** Writes the pending notes. Later notes are not written: another process may own the journal by then. */
  close(): Promise<void>;
}

export const createJournal = (options: JournalOptions): OpenJournal => new SegmentedJournal(options);

interface Pending {
  readonly line: Uint8Array;
  /** Set for records only; nobody waits for a note. */
  readonly waiter: { resolve(): void; reject(error: unknown): void } | undefined;
}

class SegmentedJournal implements OpenJournal {
  readonly #options: JournalOptions;
  readonly #limits: JournalLimits;
  readonly #segments: SegmentDirectory;
  #replayed = false;
  #current: Segment | undefined;
  #nextNumber = 1;
  #totalBytes = 0;
  #compactAboveBytes: number;
  #pending: Pending[] = [];
  #noteBytes = 0;
  /** Cancels the timer after which notes are written alone. */
  #cancelNotes: (() => void) | undefined;
  #notesDue = false;
  #closed = false;
  #writing: Promise<void> | undefined;
  #putOffs = 0;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#compactAboveBytes = this.#limits.totalBytesMax;
    this.#segments = new SegmentDirectory(options);
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

  /**
   * Syncs what the previous kubelet process wrote without a sync, before anyone acts on it, and truncates a torn tail.
   */
  async #settle(current: Segment): Promise<void> {
    try {
      await this.#segments.append(current, new Uint8Array(), "synced");
    } catch (error) {
      this.#options.onProblem({ kind: "failed", what: "sync the journal", error });
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
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
    if (this.#writing !== undefined || this.#cancelNotes !== undefined || this.#closed) return;
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
    await Promise.resolve(); // All records of this turn of the event loop share the first write.
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
      // After a disk error, or if the file was deleted, the next write starts a new segment.
      if (!isDiskFull(error)) this.#current = undefined;
      throw error;
    }
    this.#totalBytes += this.#current.bytes - segment.bytes;
  }

  async #begin(base: boolean, lines: readonly Uint8Array[]): Promise<Segment> {
    const number = this.#nextNumber;
    // A failed creation may still leave the file, and a base segment hides all earlier ones: later segments need a
    // higher number.
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

  /**
   * Compaction drops what it could not read. A temporary read failure must not lose records, and a permanent one must
   * not let the journal grow forever: compaction is postponed at most `PUT_OFFS_MAX` times.
   */
  #assertComplete({ unreadCount }: StoredJournal): void {
    if (unreadCount === 0 || this.#putOffs === PUT_OFFS_MAX) return;
    this.#putOffs += 1;
    throw new Error(`${unreadCount} segments cannot be read`);
  }
}

const isDiskFull = (error: unknown) => error instanceof HostFileError && error.code === "noSpace";

/** Overlong texts in a record are cut; fields that drive decisions are never that long. */
function encode(record: JournalRecord): Uint8Array {
  const line = encodeLine(record);
  if (line.length <= JOURNAL_RECORD_BYTES_MAX) return line;
  return encodeLine(shortened(record));
}

/** Cuts every long text and list at any depth. */
function shortened(value: unknown): unknown {
  if (typeof value === "string") return cut(value);
  if (Array.isArray(value)) return value.slice(0, JOURNAL_LIST_ITEMS_MAX).map(shortened);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shortened(field)]));
}

const cut = (text: string) =>
  text.length > JOURNAL_TEXT_CHARS_MAX ? `${text.slice(0, JOURNAL_TEXT_CHARS_MAX)}...` : text;
