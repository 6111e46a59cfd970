/**
 * A journal that the agent of commit b656062 wrote is read as that agent read it. The fixture is of a simulated node
 * with thirteen pods: liveness failures, failed pulls, missing Secrets, hooks, crashes, completion, rejection, a
 * resize, preemption, a static pod, and a kill of the agent. `facts.json` and `explained.json` are the output of that
 * commit's `foldJournaledPods` and `deckhand explain pod -o json`.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FakeFiles } from "../../sim/fake-files.ts";
import { createJournal } from "../../src/controllers/journal/journal.ts";
import { readJournalValues } from "../../src/controllers/journal/read-journal.ts";
import { toEntry } from "../../src/domain/explain/entry.ts";
import { explain } from "../../src/domain/explain/explain.ts";
import { explanationJson } from "../../src/domain/explain/show.ts";
import { foldJournaledPods } from "../../src/domain/journal/journaled-pod.ts";
import { ManualClock } from "../support/manual-clock.ts";

const DIRECTORY = "/journal";
const fixture = (name: string) => readFileSync(new URL(`./journal-b656062/${name}`, import.meta.url));
const json = (name: string): unknown => JSON.parse(fixture(name).toString());

interface Explained {
  readonly uid: string;
  readonly sentence: string;
  readonly timeline: readonly Readonly<Record<string, unknown>>[];
  readonly earlier: readonly Readonly<Record<string, unknown>>[];
}

async function files() {
  const { port } = new FakeFiles({ clock: new ManualClock() });
  await port.makeDirectory(DIRECTORY, 0o700);
  await port.writeAtomically(`${DIRECTORY}/journal-00000001.log`, fixture("journal-00000001.log"), 0o600);
  return port;
}

/** Maps, sets and bigints as the fixture has them. */
const plain = (...[, value]: readonly [string, unknown]): unknown => {
  if (value instanceof Map) return { map: [...(value as ReadonlyMap<unknown, unknown>)] };
  if (value instanceof Set) return { set: [...(value as ReadonlySet<unknown>)] };
  return typeof value === "bigint" ? { bigint: String(value) } : value;
};

test("a journal of an earlier version gives the same pods, and no record is unknown", async () => {
  const journal = createJournal({
    files: await files(),
    directory: DIRECTORY,
    clock: new ManualClock(),
    onProblem: (problem) => assert.fail(JSON.stringify(problem)),
  });
  const pods = Object.fromEntries(foldJournaledPods(await journal.replay()));
  assert.deepEqual(JSON.parse(JSON.stringify(pods, plain)), json("facts.json"));
});

const without = (fields: Readonly<Record<string, unknown>>, name: string) =>
  Object.fromEntries(Object.entries(fields).filter(([each]) => each !== name));

/** Times, quoted names, exit codes and counts: the content of a sentence, whatever its wording. */
const substance = (sentence: string) => sentence.match(/\d\d:\d\d:\d\d|"[^"]+"|exit code \d+|\d+ times/g)?.toSorted();

test("a journal of an earlier version is explained as before, apart from wording", async () => {
  const { nowWallMs, pods } = json("explained.json") as {
    readonly nowWallMs: number;
    readonly pods: Readonly<Record<string, Explained>>;
  };
  const entries = (await readJournalValues(await files(), DIRECTORY)).map((value) => toEntry(value));
  assert.ok(entries.every((entry) => entry !== undefined && entry.kind !== "unknown"));
  const known = entries.filter((entry) => entry !== undefined);
  assert.equal(Object.keys(pods).length, 13);
  for (const [pod, before] of Object.entries(pods)) {
    const explanation = explain(known, { pod, nowWallMs }) ?? assert.fail(`${pod} is not known`);
    const now = JSON.parse(explanationJson(explanation)) as Explained;
    assert.deepEqual(substance(now.sentence), substance(before.sentence), `${pod}: ${now.sentence}`);
    const lines = ({ timeline }: Explained) => timeline.map((line) => without(line, "what"));
    assert.deepEqual(lines(now), lines(before), pod);
    const lives = ({ earlier }: Explained) => earlier.map((life) => without(life, "sentence"));
    assert.deepEqual([now.uid, lives(now)], [before.uid, lives(before)], pod);
  }
});
