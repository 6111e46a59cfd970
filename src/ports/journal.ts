/**
 * What cannot be read again later, and why each decision was taken. `append` resolves when the record is on disk: only then is it
 * acted on or published. Records survive a crash at any moment; a damaged one is set aside and reported, never fatal.
 */
import type { JournalRecord } from "../domain/journal/records.ts";

export interface Journal {
  /** The records that are still kept, oldest first: once, at the start. */
  replay(): Promise<readonly JournalRecord[]>;
  append(record: JournalRecord): Promise<void>;
  /** As `append`, for what explains but decides nothing: written with the next one, and lost if we die before. */
  note(record: JournalRecord): void;
}
