import assert from "node:assert/strict";
import { test } from "node:test";
import { differences } from "./report.ts";
import type { Round, Turn } from "./rounds.ts";
import type { SubjectName } from "./subjects.ts";

const turn = (subject: SubjectName, startMs: number, phases = "Pending > Running"): Turn => ({
  subject,
  load: { average: 0, othersShare: 0 },
  figures: [{ benchmark: "B1", name: "start p50", unit: "ms", value: startMs }],
  observations: { phases },
});
const round = (...turns: readonly Turn[]): Round => ({ kind: "busy", number: 1, tries: 1, loaded: false, turns });

test("an agent that shows another life is a difference, an agent without a turn is none", () => {
  const same = round(turn("bare", 1, "nothing"), turn("go", 1), turn("deckhand", 1));
  assert.deepEqual(differences([same]), []);
  assert.deepEqual(differences([same, round(turn("deckhand", 1, "Pending"), turn("go", 1))]), [
    { what: "phases", shown: { deckhand: "Pending", go: "Pending > Running" } },
  ]);
});
