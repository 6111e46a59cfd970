/**
 * What cannot be read again later, and why each decision was taken. `append` resolves when the record is on disk: only then is it
 * acted on or published. Records survive a crash at any moment; a damaged one is set aside and reported, never fatal.
 */
import type { JournalRecord } from "../domain/journal/records.ts";

export interface Journal {
  /**
   * The records that are still kept, oldest first: once, before anything is written. Rejects only when the place cannot be looked at; it may
   * then be asked again.
   */
  replay(): Promise<readonly JournalRecord[]>;
  /** Rejects when the record may not be on disk. A crash can still bring it back, whole; writing it again does no harm. */
  append(record: JournalRecord): Promise<void>;
  /**
   * As `append`, for what explains but decides nothing: written with the next one, or alone and without a sync when none comes soon. Lost if we
   * die before, or with the machine's power.
   */
  note(record: JournalRecord): void;
}
