/**
 * The journal as it is, for someone who is not the agent: read only, without a lock, while the agent may be writing. What is torn or damaged
 * is passed over, nothing is repaired, and what this version does not know comes as it is.
 */
import { parseJournalRecord } from "../../domain/journal/parse-record.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import { type HostFiles, isMissing, listIfThere } from "../../ports/host-files.ts";
import { JOURNAL_SEGMENT_BYTES_MAX } from "../limits.ts";
import { decodeSegment } from "./segment-text.ts";
import { segmentName, segmentNumbers } from "./segments.ts";

type ReadFiles = Pick<HostFiles, "list" | "read">;

/** Between the list and the reading the agent may compact, which takes files away: so often it is looked at again. */
const LOOKS_MAX = 5;

/** Oldest first. Nothing where there is no journal. */
export async function lookAtJournal(files: ReadFiles, folder: string): Promise<readonly unknown[]> {
  for (let look = 1; ; look += 1) {
    try {
      return await lookOnce(files, folder);
    } catch (error) {
      if (!isMissing(error) || look === LOOKS_MAX) throw error;
    }
  }
}

export async function readJournal(files: ReadFiles, folder: string): Promise<readonly JournalRecord[]> {
  return (await lookAtJournal(files, folder)).flatMap((value) => parseJournalRecord(value) ?? []);
}

async function lookOnce(files: ReadFiles, folder: string): Promise<readonly unknown[]> {
  const values: (readonly unknown[])[] = [];
  for (const number of segmentNumbers(await listIfThere(files, folder)).toReversed()) {
    const { header, lines } = decodeSegment(
      await files.read(`${folder}/${segmentName(number)}`, JOURNAL_SEGMENT_BYTES_MAX),
    );
    if (header === "unknown") continue;
    values.unshift(lines.map(({ value }) => value));
    if (header !== "missing" && header.base) break;
  }
  return values.flat();
}
