import assert from "node:assert/strict";
import { test } from "node:test";
import type { CandidateName } from "./candidates.ts";
import { comparisonText, differences, ratioTable } from "./report.ts";
import type { Round, Turn } from "./rounds.ts";

const turn = (subject: CandidateName, startMs: number, phases = "Pending > Running"): Turn => ({
  subject,
  load: { average: 0, othersShare: 0 },
  figures: [{ benchmark: "B1", name: "start p50", unit: "ms", value: startMs }],
  observations: { phases },
});
const round = (...turns: readonly Turn[]): Round => ({ kind: "busy", number: 1, tries: 1, loaded: false, turns });

test("a row compares the median over the rounds with the medians of both sets of the earlier build", () => {
  const rounds = [
    round(turn("deckhand", 110), turn("before", 100), turn("before again", 100)),
    round(turn("before", 98), turn("before again", 102), turn("deckhand", 130)),
    round(turn("before again", 104), turn("deckhand", 120), turn("before", 100)),
  ];
  const [row, ...others] = ratioTable(rounds, []);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [row?.values.deckhand?.median, row?.values.before?.median, row?.values["before again"]?.median],
    [120, 100, 102],
  );
  assert.equal(row?.comparison?.verdict, "slower");
  const text = comparisonText(row === undefined ? [] : [row])
    .split("\n")
    .at(2);
  assert.equal(
    text,
    "| B1 | start p50 | ms | 120 (110–130) | 100 (98.0–100) | 102 (100–104) | +18.8 % | 2.0 % | slower |",
  );
});

test("a row without the earlier build has no comparison", () => {
  const [row] = ratioTable([round(turn("go", 100), turn("deckhand", 50))], []);
  assert.equal(row?.comparison, undefined);
  assert.equal(row?.toGo?.median, 0.5);
});

test("different observations of two agents are a difference, a missing turn is none", () => {
  const same = round(turn("bare", 1, "nothing"), turn("deckhand", 1), turn("before", 1), turn("before again", 1));
  assert.deepEqual(differences([same]), []);
  assert.deepEqual(differences([same, round(turn("deckhand", 1, "Pending"), turn("before", 1))]), [
    { what: "phases", shown: { deckhand: "Pending", before: "Pending > Running" } },
  ]);
});
