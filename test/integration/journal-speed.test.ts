/**
 * Measures the journal's speed on this disk. The limits are generous: they only catch lost batching of syncs or a slow
 * reader.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createJournal } from "../../src/controllers/journal/journal.ts";
import type { JournalRecord } from "../../src/domain/journal/records.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { createHostFiles } from "../../src/wire/host/files.ts";
import { figure } from "../figures.ts";

const scratch = mkdtempSync(join(tmpdir(), "deckhand-speed-"));
after(() => rmSync(scratch, { recursive: true }));

const files = createHostFiles({ clock: hostClock });
const open = (name: string) =>
  createJournal({ files, directory: join(scratch, name), clock: hostClock, onProblem: () => assert.fail("a problem") });

const exited = (index: number): JournalRecord => ({
  kind: "exited",
  uid: `8f0d3c52-6d5e-4a47-9f55-${String(index).padStart(12, "0")}`,
  pod: "some-namespace/some-deployment-5c7d8b9f4-x2x9k",
  wallMs: 1_763_188_000_000 + index,
  container: "app",
  containerId: "3f4e9b0c7a6d5e8f1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f",
  exitCode: 137,
  reason: "OOMKilled",
  startedWallNs: "1763188000123456789",
  finishedWallNs: "1763188001123456789",
  restartCount: 3,
});

async function timed(run: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await run();
  return performance.now() - startedMs;
}

void test("sequential appends, 110 concurrent appends, and replay of 10 000 records", async () => {
  const journal = open("one");
  await journal.replay();
  await journal.append(exited(0));

  const oneByOne = 300;
  const sequentialMs = await timed(async () => {
    for (let index = 0; index < oneByOne; index += 1) await journal.append(exited(index));
  });
  figure("appends a second, each waiting for its sync", Math.round((oneByOne * 1000) / sequentialMs), "/s");
  figure("one append with its sync", Number((sequentialMs / oneByOne).toFixed(2)), "ms");

  const burstMs = await timed(() =>
    Promise.all(Array.from({ length: 110 }, (_, index) => journal.append(exited(index)))),
  );
  figure("110 appends at once", Number(burstMs.toFixed(2)), "ms");
  assert.ok(burstMs < (sequentialMs / oneByOne) * 55, `${burstMs} ms for 110 at once`);

  const many = open("many");
  await many.replay();
  const writeMs = await timed(() =>
    Promise.all(Array.from({ length: 10_000 }, (_, index) => many.append(exited(index)))),
  );
  figure("appends a second, 10 000 at once", Math.round(10_000_000 / writeMs), "/s");
  let count = 0;
  const replayMs = await timed(async () => {
    count = (await open("many").replay()).length;
  });
  assert.equal(count, 10_000);
  figure("replay of 10 000 records", Math.round(replayMs), "ms");
  assert.ok(replayMs < 3000, `${replayMs} ms to read 10 000 records`);
});
