/**
 * Which agents a comparison suite runs. `recorded` (the gate): Deckhand alone, compared with the recorded answers of
 * the Go kubelet. `record` (`npm run record`): the Go kubelet alone, whose answers are stored. `live` (`npm run proof
 * -- differential`): both at once.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

export type Side = "go" | "deckhand";
type ComparisonMode = "recorded" | "record" | "live";

const SIDES_OF: Readonly<Record<ComparisonMode, readonly Side[]>> = {
  recorded: ["deckhand"],
  record: ["go"],
  live: ["go", "deckhand"],
};

function modeFromEnvironment(): ComparisonMode {
  const value = process.env["DECKHAND_COMPARISON"] ?? "recorded";
  assert.ok(value === "recorded" || value === "record" || value === "live", `DECKHAND_COMPARISON=${value}`);
  return value;
}

export const comparisonMode = modeFromEnvironment();

/** The agents that run in this process's mode. */
export const SIDES: readonly Side[] = SIDES_OF[comparisonMode];

/** The node of each agent; an agent that runs alone has the first node. */
export const NODES: Readonly<Record<Side, string>> = { go: "n1", deckhand: comparisonMode === "live" ? "n2" : "n1" };

/** The name of a case's pod under that agent. */
export const nameOn = (side: Side, name: string): string => `${name}-${NODES[side]}`;

/** Like `test`, for a test that needs Deckhand: `npm run record` leaves it out. */
export const deckhandTest: typeof test =
  comparisonMode === "record" ? (((): Promise<void> => Promise.resolve()) as unknown as typeof test) : test;
