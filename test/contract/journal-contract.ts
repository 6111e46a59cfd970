/** Contract suite of the Journal port, on any files: the next process replays all records, in order and complete. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { createJournal, type JournalLimits, type OpenJournal } from "../../src/controllers/journal/journal.ts";
import { readJournal, readJournalValues } from "../../src/controllers/journal/read-journal.ts";
import { encodeLine } from "../../src/controllers/journal/segment-text.ts";
import type { JournalProblem } from "../../src/controllers/journal/segments.ts";
import {
  JOURNAL_LIST_ITEMS_MAX,
  JOURNAL_RECORD_BYTES_MAX,
  JOURNAL_TEXT_CHARS_MAX,
} from "../../src/controllers/limits.ts";
import { decisionRecord, type JournalRecord } from "../../src/domain/journal/records.ts";
import { HostFileError, type HostFiles } from "../../src/ports/host-files.ts";
import { ManualClock } from "../support/manual-clock.ts";

export interface JournalWorld {
  /** Returns the files for the next process. */
  restart(): HostFiles;
  /** May be missing. */
  readonly directory: string;
  end(): Promise<void>;
}

export const admitted = (uid: string): JournalRecord => ({ kind: "admitted", uid, pod: `ns/${uid}`, wallMs: 1 });
const finished = (uid: string): JournalRecord => ({ kind: "finished", uid, pod: `ns/${uid}`, wallMs: 2 });
const decision = (uid: string, why: string): JournalRecord =>
  decisionRecord({ uid, pod: `ns/${uid}`, wallMs: 3 }, { kind: "defer", why });

interface Life {
  readonly journal: OpenJournal;
  readonly clock: ManualClock;
  readonly files: HostFiles;
  readonly directory: string;
  readonly problems: JournalProblem[];
}

export function journalContract(name: string, begin: () => Promise<JournalWorld>): void {
  describe(`the journal on ${name} keeps the contract of its port`, () => {
    let begun: JournalWorld | undefined;
    beforeEach(async () => {
      begun = await begin();
    });
    afterEach(() => begun?.end());
    const start = (limits: Partial<JournalLimits> = {}): Life => {
      if (begun === undefined) throw new Error("the world has not begun");
      const { directory } = begun;
      const files = begun.restart();
      const problems: JournalProblem[] = [];
      const onProblem = (problem: JournalProblem) => problems.push(problem);
      const clock = new ManualClock();
      return {
        journal: createJournal({ files, directory, clock, onProblem, limits }),
        clock,
        files,
        directory,
        problems,
      };
    };
    remembering(start);
    bounding(start);
    repairing(start);
  });
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 1000; turn += 1) if (await isTrue()) return;
  assert.fail("it did not come true");
}

type Start = (limits?: Partial<JournalLimits>) => Life;

function remembering(start: Start): void {
  test("replays appended records in order across restarts, without problems", async () => {
    const wanted: JournalRecord[] = [];
    for (let life = 0; life < 5; life += 1) {
      const { journal, problems } = start();
      assert.deepEqual(await journal.replay(), wanted);
      for (const record of [admitted(`a${life}`), finished(`a${life}`), decision("b", "it says «ё\n\u2028»")]) {
        await journal.append(record);
        wanted.push(record);
      }
      assert.deepEqual(problems, []);
    }
  });

  test("replays all concurrent appends in the order of their calls", async () => {
    const records = Array.from({ length: 500 }, (_, index) => admitted(`uid-${index}`));
    const { journal } = start({ segmentBytesMax: 4096 });
    await journal.replay();
    await Promise.all(records.map((record) => journal.append(record)));
    assert.deepEqual(await start().journal.replay(), records);
  });

  test("a note is written in order with the next record, or alone when many are pending", async () => {
    const { journal, files, directory } = start({ notesBytesMax: 1000 });
    await journal.replay();
    journal.note(decision("a", "first"));
    await journal.append(admitted("a"));
    journal.note(decision("a", "lost with the process"));
    assert.deepEqual(await start().journal.replay(), [decision("a", "first"), admitted("a")]);
    for (let index = 0; index < 10; index += 1) journal.note(decision("a", "again ".repeat(20)));
    for (let before = 0; before < 500; )
      before = (await files.facts(`${directory}/journal-00000001.log`))?.sizeBytes ?? 0;
    assert.ok((await start().journal.replay()).length > 5);
  });

  test("a note is written alone after one second without a record, and readers see it while the journal is open", async () => {
    const { journal, clock, files, directory } = start();
    await journal.replay();
    await journal.append(admitted("a"));
    const known = async () => (await readJournal(files, directory)).length;
    journal.note(decision("a", "alone"));
    assert.equal(await known(), 1);
    await clock.advance(1000);
    await until(async () => (await known()) === 2);
    await Promise.all([journal.append(admitted("b")), journal.append(admitted("c"))]);
    assert.deepEqual(await readJournal(files, directory), [
      admitted("a"),
      decision("a", "alone"),
      admitted("b"),
      admitted("c"),
    ]);
    assert.equal(clock.timersPending, 0);
  });

  test("close writes pending notes, and later notes are not written", async () => {
    const { journal, clock, files, directory } = start();
    await journal.replay();
    journal.note(decision("a", "last"));
    await journal.close();
    journal.note(decision("a", "too late"));
    assert.equal(clock.timersPending, 0);
    assert.deepEqual(await readJournal(files, directory), [decision("a", "last")]);
    await start().journal.replay();
  });

  test("readJournalValues retries when compaction removes a segment, and returns unknown record kinds unchanged", async () => {
    const { journal, files, directory } = start();
    await journal.replay();
    await journal.append(admitted("a"));
    const first = `${directory}/journal-00000001.log`;
    const content = await files.read(first, 1e6);
    await files.appendAt(first, content.length, encodeLine({ kind: "new", uid: "a", pod: "ns/a", wallMs: 1 }));
    await files.appendAt(first, (await files.read(first, 1e6)).length, new TextEncoder().encode("99 torn"));
    let reads = 0;
    const racing: Pick<HostFiles, "list" | "read"> = {
      list: (path) => files.list(path),
      read: async (path, bytesMax) => {
        reads += 1;
        if (reads > 1) return files.read(path, bytesMax);
        throw new HostFileError("read", path, "notFound", "compacted away");
      },
    };
    assert.deepEqual(await readJournalValues(racing, directory), [
      admitted("a"),
      { kind: "new", uid: "a", pod: "ns/a", wallMs: 1 },
    ]);
    assert.deepEqual(await readJournal(files, directory), [admitted("a")]);
    assert.deepEqual(await readJournalValues(files, `${directory}/nowhere`), []);
  });

  test("a record of exactly the size limit stays complete, and texts of a longer one are truncated", async () => {
    const { journal } = start();
    await journal.replay();
    const half = "x".repeat(JOURNAL_RECORD_BYTES_MAX / 2);
    const otherBytes = encodeLine(decision("a", half)).length - half.length;
    const whole = "x".repeat(JOURNAL_RECORD_BYTES_MAX - otherBytes);
    for (const why of [whole, `${whole}x`]) await journal.append(decision("a", why));
    const cut = `${"x".repeat(JOURNAL_TEXT_CHARS_MAX)}...`;
    assert.deepEqual(await start().journal.replay(), [decision("a", whole), decision("a", cut)]);
  });

  test("only texts above their own limit are truncated in a record above the size limit", async () => {
    const { journal } = start();
    await journal.replay();
    const [short, long] = ["r".repeat(JOURNAL_TEXT_CHARS_MAX), "m".repeat(JOURNAL_RECORD_BYTES_MAX)];
    const rejected = { kind: "rejected", uid: "a", pod: "ns/a", wallMs: 1, reason: short } as const;
    await journal.append({ ...rejected, message: long });
    const message = `${"m".repeat(JOURNAL_TEXT_CHARS_MAX)}...`;
    assert.deepEqual(await start().journal.replay(), [{ ...rejected, message }]);
  });

  test("a list in a record above the size limit is truncated to JOURNAL_LIST_ITEMS_MAX", async () => {
    const { journal } = start();
    await journal.replay();
    const admit = (count: number) => {
      const containers = Array.from({ length: count }, (_, index) => ({
        role: "regular" as const,
        name: `c${index}`.padEnd(63, "x"),
      }));
      return decisionRecord({ uid: "a", pod: "ns/a", wallMs: 3 }, { kind: "admit", containers });
    };
    const [short, long] = [JOURNAL_LIST_ITEMS_MAX + 1, JOURNAL_RECORD_BYTES_MAX / 64];
    for (const count of [short, long]) await journal.append(admit(count));
    assert.deepEqual(await start().journal.replay(), [admit(short), admit(JOURNAL_LIST_ITEMS_MAX)]);
  });

  test("replay works only once, and append requires it", async () => {
    const { journal } = start();
    await assert.rejects(journal.append(admitted("a")), /replayed before/);
    await journal.replay();
    await assert.rejects(journal.replay(), /once/);
  });
}

function bounding(start: Start): void {
  test("the journal stays small under churn, keeps unfinished pods, and drops decisions first", async () => {
    const limits = {
      segmentBytesMax: 5000,
      totalBytesMax: 20_000,
      bytesTarget: 10_000,
      finishedKeptMin: 20,
      finishedKeptMs: 0,
    };
    const { journal, files, directory, problems } = start(limits);
    await journal.replay();
    await journal.append(admitted("long-lived"));
    for (let turn = 0; turn < 300; turn += 1) {
      journal.note(decision(`pod-${turn}`, "because"));
      await Promise.all([journal.append(admitted(`pod-${turn}`)), journal.append(finished(`pod-${turn}`))]);
    }
    const names = await files.list(directory);
    const sizes = await Promise.all(
      names.map(async (name) => (await files.facts(`${directory}/${name}`))?.sizeBytes ?? 0),
    );
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(total < 26_000 && names.length < 8, `${total} bytes in ${names.join(" ")}`);
    const kept = await start(limits).journal.replay();
    assert.deepEqual(kept[0], admitted("long-lived"));
    for (let turn = 280; turn < 300; turn += 1) {
      assert.equal(kept.filter(({ uid, kind }) => uid === `pod-${turn}` && kind !== "decision").length, 2);
    }
    assert.equal(
      kept.some(({ uid }) => uid === "pod-0"),
      false,
    );
    assert.deepEqual(problems, []);
  });
}

function repairing(start: Start): void {
  const record = (index: number) => admitted(`uid-${index}`);
  const fill = async () => {
    const life = start();
    await life.journal.replay();
    for (let index = 0; index < 10; index += 1) await life.journal.append(record(index));
    const path = `${life.directory}/journal-00000001.log`;
    return { ...life, path, content: Buffer.from(await life.files.read(path, 1e6)) };
  };

  test("a torn tail is truncated and reported once, and the next record follows the last complete one", async () => {
    const { files, path, content } = await fill();
    await files.writeAtomically(path, content.subarray(0, -5), 0o600);
    const second = start();
    assert.deepEqual(
      await second.journal.replay(),
      Array.from({ length: 9 }, (_, index) => record(index)),
    );
    assert.deepEqual(
      second.problems.map(({ kind }) => kind),
      ["tornTail"],
    );
    await second.journal.append(record(100));
    const third = start();
    assert.deepEqual((await third.journal.replay()).at(-1), record(100));
    assert.deepEqual(third.problems, []);
  });

  test("a segment with a corrupt record is copied, and all other records are replayed", async () => {
    const { files, directory, path, content } = await fill();
    const place = content.indexOf("uid-4");
    const damaged = Buffer.from(content);
    damaged[place] = (damaged[place] ?? 0) ^ 0x20;
    await files.writeAtomically(path, damaged, 0o600);
    const second = start();
    const wanted = [0, 1, 2, 3, 5, 6, 7, 8, 9].map(record);
    assert.deepEqual(await second.journal.replay(), wanted);
    const [problem] = second.problems;
    assert.ok(problem?.kind === "corrupt" && problem.copy === "journal-00000001.log.corrupt-1");
    assert.deepEqual(Buffer.from(await files.read(`${directory}/${problem.copy}`, 1e6)), damaged);
    await second.journal.append(record(100));
    const third = start();
    assert.deepEqual(await third.journal.replay(), [...wanted, record(100)]);
    assert.deepEqual(third.problems, []);
  });

  test("a damaged byte or a truncated end loses at most the records it touches", async () => {
    const { files, directory, path, content } = await fill();
    const damages = [
      ...[...content.keys()]
        .filter((place) => place % 7 === 0)
        .map((place) => Buffer.from(content).fill(0xff, place, place + 1)),
      ...[...content.keys()].filter((place) => place % 13 === 0).map((place) => content.subarray(0, place)),
      Buffer.alloc(5000),
      Buffer.from("no journal at all\n"),
    ];
    for (const damage of damages) {
      await files.removeTree(directory);
      await files.makeDirectory(directory, 0o700);
      await files.writeAtomically(path, damage, 0o600);
      const life = start();
      const found = await life.journal.replay();
      const uids = found.map(({ uid }) => Number(uid.slice(4)));
      assert.deepEqual(
        uids,
        [...new Set(uids)].sort((a, b) => a - b),
      );
      if (damage.length === content.length) assert.ok(found.length >= 8, `${found.length} left`);
      await life.journal.append(record(100));
      assert.deepEqual(await start().journal.replay(), [...found, record(100)]);
    }
  });

  test("a path that is no segment, or a segment of a later version, does not stop the replay", async () => {
    const { files, directory, journal } = await fill();
    await files.makeDirectory(`${directory}/journal-00000002.log`, 0o700);
    await files.link("/etc/passwd", `${directory}/journal-00000003.log`);
    const later = JSON.stringify({ format: "deckhand-journal", version: 2, base: true });
    const { crc32 } = await import("node:zlib");
    const line = `${later.length} ${crc32(later).toString(16).padStart(8, "0")} ${later}\n`;
    await files.writeAtomically(`${directory}/journal-00000004.log`, Buffer.from(line), 0o600);
    await files.writeAtomically(`${directory}/.journal-00000005.log.tmp.x`, Buffer.from("not ours"), 0o600);
    await journal.append(record(50));
    const second = start();
    const wanted = [...Array.from({ length: 10 }, (_, index) => record(index)), record(50)];
    assert.deepEqual(await second.journal.replay(), wanted);
    assert.deepEqual(second.problems.map(({ kind }) => kind).sort(), ["failed", "failed", "unknownVersion"]);
    await second.journal.append(record(100));
    assert.deepEqual(await start().journal.replay(), [...wanted, record(100)]);
  });

  test("only the latest five copies of damaged segments are kept", async () => {
    const { files, directory, path, content } = await fill();
    for (let turn = 0; turn < 12; turn += 1) {
      await files.writeAtomically(path, Buffer.from(content).fill(turn, 150, 160), 0o600);
      await start().journal.replay();
    }
    const copies = (await files.list(directory)).filter((name) => name.includes("corrupt"));
    assert.deepEqual(
      copies.map((name) => Number(name.split("-").at(-1))).sort((a, b) => a - b),
      [8, 9, 10, 11, 12],
    );
  });

  test("the journal continues in a new directory after its directory is removed", async () => {
    const { files, directory, journal } = await fill();
    await files.removeTree(directory);
    await assert.rejects(journal.append(record(10)));
    await journal.append(record(11));
    assert.deepEqual(await start().journal.replay(), [record(11)]);
  });
}
