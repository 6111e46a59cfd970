/**
 * The journal's directory of numbered segments, read from the newest back to the last base segment, which contains all
 * earlier ones. A torn tail is truncated; other damage is first saved in a copy. Damage is reported to `onProblem` and
 * never stops reading.
 */
import { parseJournalRecord } from "../../domain/journal/parse-record.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import { type HostFiles, listIfThere } from "../../ports/host-files.ts";
import { JOURNAL_SEGMENT_BYTES_MAX } from "../limits.ts";
import { decodeSegment, encodeHeader, type SegmentContent } from "./segment-text.ts";

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
const COPIES_MAX = 5;

const SEGMENT_NAME = /^journal-(\d{8,})\.log$/;
const COPY_NAME = /^journal-\d{8,}\.log\.corrupt-(\d+)$/;
const LEFT_OVER_NAME = /^\.journal-\d{8,}\.log.*\.tmp$/;

export type JournalProblem =
  /** A crash interrupted the last write. */
  | { readonly kind: "tornTail"; readonly segment: string; readonly bytes: number }
  | { readonly kind: "corrupt"; readonly segment: string; readonly bytes: number; readonly copy: string }
  | { readonly kind: "unknownVersion"; readonly segment: string; readonly copy: string }
  | { readonly kind: "unknownRecords"; readonly segment: string; readonly count: number }
  /** A file operation failed. The journal continues without it. */
  | { readonly kind: "failed"; readonly what: string; readonly error: unknown };

export interface Segment {
  readonly number: number;
  readonly path: string;
  readonly bytes: number;
}

export interface StoredRecord {
  readonly record: JournalRecord;
  readonly line: Uint8Array;
  readonly bytes: number;
}

export interface StoredJournal {
  readonly records: readonly StoredRecord[];
  /** The newest segment, if it can be appended to. */
  readonly current: Segment | undefined;
  /** The base segment: it contains all earlier segments. */
  readonly baseNumber: number;
  /** Segments that exist but could not be used. */
  readonly unreadCount: number;
  readonly nextNumber: number;
  readonly totalBytes: number;
}

export interface SegmentDirectoryOptions {
  readonly files: HostFiles;
  readonly directory: string;
  readonly onProblem: (problem: JournalProblem) => void;
}

export class SegmentDirectory {
  readonly #options: SegmentDirectoryOptions;

  constructor(options: SegmentDirectoryOptions) {
    this.#options = options;
  }

  /** Rejects only when the directory exists but cannot be listed: that is not an empty journal. */
  async readAll(): Promise<StoredJournal> {
    const numbers = segmentNumbers(await this.#list());
    const found: StoredSegment[] = [];
    let unreadCount = 0;
    for (const number of numbers.toReversed()) {
      const segment = await this.#readSegment(number);
      if (segment === undefined) unreadCount += 1;
      else found.unshift(segment);
      if (segment?.base === true) break;
    }
    const last = found.at(-1);
    return {
      records: found.flatMap((segment) => segment.records),
      current: last?.number === numbers.at(-1) && last?.writable === true ? last : undefined,
      nextNumber: (numbers.at(-1) ?? 0) + 1,
      baseNumber: found[0]?.base === true ? found[0].number : 0,
      unreadCount,
      totalBytes: found.reduce((sum, segment) => sum + segment.bytes, 0),
    };
  }

  /** Once visible, the segment contains all of `lines`. */
  async create(number: number, base: boolean, lines: readonly Uint8Array[]): Promise<Segment> {
    const { files, directory } = this.#options;
    const path = `${directory}/${segmentName(number)}`;
    const content = Buffer.concat([encodeHeader({ base }), ...lines]);
    await files.makeDirectory(directory, DIRECTORY_MODE);
    await files.writeAtomically(path, content, FILE_MODE);
    return { number, path, bytes: content.length };
  }

  async append(segment: Segment, content: Uint8Array, sync: "synced" | "unsynced"): Promise<Segment> {
    await this.#options.files.appendAt(segment.path, segment.bytes, content, sync);
    return { ...segment, bytes: segment.bytes + content.length };
  }

  /** Deletes segments with lower numbers and temporary files that crashes left. */
  async removeBefore(number: number): Promise<void> {
    for (const name of (await this.#try("list the journal", () => this.#list())) ?? []) {
      const isOld = (numberIn(name, SEGMENT_NAME) ?? number) < number;
      if (isOld || LEFT_OVER_NAME.test(name)) await this.#try(`remove ${name}`, () => this.#remove(name));
    }
  }

  #list(): Promise<readonly string[]> {
    return listIfThere(this.#options.files, this.#options.directory);
  }

  async #readSegment(number: number): Promise<StoredSegment | undefined> {
    const { files, directory } = this.#options;
    const name = segmentName(number);
    const path = `${directory}/${name}`;
    const content = await this.#try(`read ${name}`, () => files.read(path, JOURNAL_SEGMENT_BYTES_MAX));
    if (content === undefined) return undefined;
    const decoded = decodeSegment(content);
    if (decoded.header === "unknown") return this.#setAsideVersion(number, content);
    const records = this.#parse(name, decoded);
    const base = decoded.header !== "missing" && decoded.header.base;
    const segment = { number, path, base, records, bytes: decoded.endBytes, writable: true };
    if (decoded.tornBytes > 0) this.#options.onProblem({ kind: "tornTail", segment: name, bytes: decoded.tornBytes });
    if (decoded.corruptBytes === 0 && decoded.header !== "missing") return segment;
    return this.#repair(segment, content, decoded);
  }

  #parse(segment: string, decoded: SegmentContent): readonly StoredRecord[] {
    const records: StoredRecord[] = [];
    for (const { value, bytes } of decoded.lines) {
      const record = parseJournalRecord(value);
      if (record !== undefined) records.push({ record, line: bytes, bytes: bytes.length });
    }
    const count = decoded.lines.length - records.length;
    if (count > 0) this.#options.onProblem({ kind: "unknownRecords", segment, count });
    return records;
  }

  /** After saving a copy, rewrites the segment from its good lines, so that the damage is reported only once. */
  async #repair(segment: StoredSegment, content: Uint8Array, decoded: SegmentContent): Promise<StoredSegment> {
    const name = segmentName(segment.number);
    const copy = await this.#copyAside(name, content);
    this.#options.onProblem({ kind: "corrupt", segment: name, bytes: decoded.corruptBytes, copy: copy ?? "" });
    if (copy === undefined) return { ...segment, writable: false };
    const lines = decoded.lines.map((line) => line.bytes);
    const repaired = await this.#try(`repair ${name}`, () => this.create(segment.number, segment.base, lines));
    return repaired === undefined ? { ...segment, writable: false } : { ...segment, ...repaired };
  }

  async #setAsideVersion(number: number, content: Uint8Array): Promise<undefined> {
    const name = segmentName(number);
    const copy = await this.#copyAside(name, content);
    this.#options.onProblem({ kind: "unknownVersion", segment: name, copy: copy ?? "" });
    if (copy !== undefined) await this.#try(`remove ${name}`, () => this.#remove(name));
  }

  /** The oldest copies are deleted to keep at most `COPIES_MAX`. */
  #copyAside(name: string, content: Uint8Array): Promise<string | undefined> {
    return this.#try(`copy ${name}`, async () => {
      const copies = (await this.#list())
        .flatMap((copy) => ({ copy, number: numberIn(copy, COPY_NAME) ?? 0 }))
        .filter(({ number }) => number > 0)
        .sort((a, b) => a.number - b.number);
      for (const old of copies.slice(0, Math.max(0, copies.length + 1 - COPIES_MAX))) await this.#remove(old.copy);
      const copy = `${name}.corrupt-${(copies.at(-1)?.number ?? 0) + 1}`;
      await this.#options.files.writeAtomically(`${this.#options.directory}/${copy}`, content, FILE_MODE);
      return copy;
    });
  }

  #remove(name: string): Promise<void> {
    return this.#options.files.removeFile(`${this.#options.directory}/${name}`);
  }

  async #try<T>(what: string, run: () => Promise<T>): Promise<T | undefined> {
    try {
      return await run();
    } catch (error) {
      this.#options.onProblem({ kind: "failed", what, error });
      return undefined;
    }
  }
}

interface StoredSegment extends Segment {
  readonly base: boolean;
  readonly records: readonly StoredRecord[];
  readonly writable: boolean;
}

export const segmentName = (number: number) => `journal-${String(number).padStart(8, "0")}.log`;

/** Numbers of the segments among these names, oldest first. */
export const segmentNumbers = (names: readonly string[]): readonly number[] =>
  names.flatMap((name) => numberIn(name, SEGMENT_NAME) ?? []).sort((a, b) => a - b);

function numberIn(name: string, pattern: RegExp): number | undefined {
  const digits = pattern.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
