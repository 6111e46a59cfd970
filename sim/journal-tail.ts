/** What an agent has newly written into its journal, as it lies on the disk: for those who look at the world from outside. */
import { decodeSegment } from "../src/controllers/journal/segment-text.ts";
import { parseJournalRecord } from "../src/domain/journal/parse-record.ts";
import type { JournalRecord } from "../src/domain/journal/records.ts";
import type { Disk } from "./fake-disk.ts";
import { folderAt } from "./workload/disk-view.ts";

const FOLDER = "/var/lib/kubelet/deckhand/journal";

export class JournalTail {
  readonly #disk: Disk;
  /** By the name of a segment: what was read of it. */
  readonly #read = new Map<string, Uint8Array>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Records that were not there before; what a compaction or a power failure writes or shows again comes again. */
  news(): readonly JournalRecord[] {
    const found: JournalRecord[] = [];
    for (const [name, entry] of folderAt(this.#disk, FOLDER)?.entries ?? []) {
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
