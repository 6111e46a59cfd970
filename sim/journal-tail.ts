/** New records in an agent's journal as found on the disk, for checkers that observe the world from outside. */
import { decodeSegment } from "../src/controllers/journal/segment-text.ts";
import { parseJournalRecord } from "../src/domain/journal/parse-record.ts";
import type { JournalRecord } from "../src/domain/journal/records.ts";
import type { Disk } from "./fake-disk.ts";
import { directoryAt } from "./workload/disk-view.ts";

const DIRECTORY = "/var/lib/kubelet/deckhand/journal";

export class JournalTail {
  readonly #disk: Disk;
  /** The content read so far, by segment name. */
  readonly #read = new Map<string, Uint8Array>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /**
   * Returns records that were not there before. Records that a compaction or a power failure writes or exposes again
   * are returned again.
   */
  news(): readonly JournalRecord[] {
    const found: JournalRecord[] = [];
    for (const [name, entry] of directoryAt(this.#disk, DIRECTORY)?.entries ?? []) {
      if (entry.kind !== "file" || !name.startsWith("journal-") || !name.endsWith(".log")) continue;
      const before = this.#read.get(name);
      if (before === entry.content) continue;
      const fromBytes = before === undefined || before.length > entry.content.length ? 0 : before.length;
      const { lines, tornBytes } = decodeSegment(entry.content.subarray(fromBytes));
      this.#read.set(name, tornBytes === 0 ? entry.content : entry.content.subarray(0, fromBytes));
      for (const { value } of lines) {
        const record = parseJournalRecord(value);
        if (record !== undefined) found.push(record);
      }
    }
    return found;
  }
}
