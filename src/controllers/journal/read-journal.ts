/**
 * Reads the journal from another process than the kubelet: read-only and without a lock, while the kubelet may be
 * writing. Torn or damaged lines are skipped, nothing is repaired, and values that this version does not know are
 * returned unchanged.
 */
import { parseJournalRecord } from "../../domain/journal/parse-record.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import { type HostFiles, isMissing, listIfThere } from "../../ports/host-files.ts";
import { JOURNAL_SEGMENT_BYTES_MAX } from "../limits.ts";
import { decodeSegment } from "./segment-text.ts";
import { segmentName, segmentNumbers } from "./segments.ts";

type ReadFiles = Pick<HostFiles, "list" | "read">;

/** Compaction may delete files between the list and the reads; the whole read is then retried, at most this often. */
const READS_MAX = 5;

/** Returns the values oldest first; empty if there is no journal. */
export async function readJournalValues(files: ReadFiles, directory: string): Promise<readonly unknown[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readOnce(files, directory);
    } catch (error) {
      if (!isMissing(error) || attempt === READS_MAX) throw error;
    }
  }
}

export async function readJournal(files: ReadFiles, directory: string): Promise<readonly JournalRecord[]> {
  return (await readJournalValues(files, directory)).flatMap((value) => parseJournalRecord(value) ?? []);
}

async function readOnce(files: ReadFiles, directory: string): Promise<readonly unknown[]> {
  const values: (readonly unknown[])[] = [];
  for (const number of segmentNumbers(await listIfThere(files, directory)).toReversed()) {
    const { header, lines } = decodeSegment(
      await files.read(`${directory}/${segmentName(number)}`, JOURNAL_SEGMENT_BYTES_MAX),
    );
    if (header === "unknown") continue;
    values.unshift(lines.map(({ value }) => value));
    if (header !== "missing" && header.base) break;
  }
  return values.flat();
}
