/**
 * Records what cannot be read again later, and the reason for each decision. `append` resolves when the record is on
 * disk; only then may it be acted on or published. Records survive a crash at any moment. A damaged record is set aside
 * and reported; it is never fatal.
 */
import type { JournalRecord } from "../domain/journal/records.ts";

export interface Journal {
  /**
   * Returns the retained records, oldest first. Called once, before the first write. It rejects only when the directory
   * cannot be inspected, and may then be called again.
   */
  replay(): Promise<readonly JournalRecord[]>;
  /**
   * Rejects when the record may not be on disk. After a crash the record may still appear, as a whole; writing it again
   * is harmless.
   */
  append(record: JournalRecord): Promise<void>;
  /**
   * Like `append`, for records that explain but decide nothing. Written with the next record, or alone and unsynced if
   * none follows soon. Lost if the process dies before that, or in a power failure.
   */
  note(record: JournalRecord): void;
}
