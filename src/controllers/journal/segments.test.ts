import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { withFileOfSize } from "../../../test/support/file-of-size.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import { JOURNAL_SEGMENT_BYTES_MAX } from "../limits.ts";
import { createJournal } from "./journal.ts";
import { readJournalValues } from "./read-journal.ts";
import type { JournalProblem } from "./segments.ts";

const DIRECTORY = "/journal";
const FIRST = `${DIRECTORY}/journal-00000001.log`;
const admitted = (uid: string): JournalRecord => ({ kind: "admitted", uid, pod: `ns/${uid}`, wallMs: 1 });

function open(files: HostFiles) {
  const problems: JournalProblem[] = [];
  const onProblem = (problem: JournalProblem) => problems.push(problem);
  return { problems, journal: createJournal({ files, directory: DIRECTORY, clock: new ManualClock(), onProblem }) };
}

/** A journal with one record, whose only file reports the given size. */
async function filesWith(sizeBytes: number): Promise<HostFiles> {
  const { port } = new FakeFiles({ clock: new ManualClock() });
  const { journal } = open(port);
  await journal.replay();
  await journal.append(admitted("a"));
  return withFileOfSize(port, FIRST, sizeBytes);
}

test("a journal file of exactly the limit is read", async () => {
  const files = await filesWith(JOURNAL_SEGMENT_BYTES_MAX);
  const { journal, problems } = open(files);
  assert.deepEqual([await journal.replay(), problems], [[admitted("a")], []]);
  assert.deepEqual(await readJournalValues(files, DIRECTORY), [admitted("a")]);
});

test("a journal file larger than the limit is reported and kept, and the journal continues in the next file", async () => {
  const files = await filesWith(JOURNAL_SEGMENT_BYTES_MAX + 1);
  const { journal, problems } = open(files);
  assert.deepEqual(await journal.replay(), []);
  const [problem, ...others] = problems;
  assert.ok(problem?.kind === "failed" && problem.what === "read journal-00000001.log");
  assert.match(String(problem.error), /tooLarge/);
  assert.deepEqual(others, []);
  await journal.append(admitted("b"));
  assert.deepEqual(await files.list(DIRECTORY), ["journal-00000001.log", "journal-00000002.log"]);
  await assert.rejects(readJournalValues(files, DIRECTORY), { code: "tooLarge" });
});
