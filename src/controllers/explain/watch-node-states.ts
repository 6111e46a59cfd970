/**
 * Journals the node's conditions and what the agent waits for, each when it changes. A wait of the first seconds is a
 * normal start and is not journaled.
 */
import type { Latest } from "../../concurrency/latest-cell.ts";
import { onChange } from "../../concurrency/on-change.ts";
import { NodeStates } from "../../domain/explain/node-states.ts";
import { nodeWaits, type WaitInputs } from "../../domain/node/node-waits.ts";
import type { NodeReport } from "../../domain/node/own-node.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Journal } from "../../ports/journal.ts";

const FIRST_WAITS_MS = 5_000;

export interface NodeStatesOptions {
  readonly journal: Pick<Journal, "note">;
  readonly clock: Clock;
  readonly nodeReport: Latest<NodeReport>;
  readonly waitInputs: () => WaitInputs;
  /** The cells that `waitInputs` reads. */
  readonly waitCells: readonly Latest<unknown>[];
}

export async function watchNodeStates(options: NodeStatesOptions, shutdown: AbortSignal): Promise<void> {
  const { journal, clock, nodeReport, waitInputs, waitCells } = options;
  const states = new NodeStates();
  const beginMs = clock.monotonicMs();
  const beginWallMs = clock.wallMs();
  const noteConditions = () => {
    for (const record of states.conditions(nodeReport.value.conditions, clock.wallMs())) journal.note(record);
  };
  const noteWaits = (sinceWallMs = clock.wallMs()) => {
    if (clock.monotonicMs() - beginMs < FIRST_WAITS_MS) return;
    for (const record of states.waits(nodeWaits(waitInputs()), clock.wallMs(), sinceWallMs)) journal.note(record);
  };
  const cancel = clock.after(FIRST_WAITS_MS, () => noteWaits(beginWallMs));
  noteConditions();
  try {
    await Promise.all([
      onChange(nodeReport, noteConditions, shutdown),
      ...waitCells.map((cell) => onChange(cell, () => noteWaits(), shutdown)),
    ]);
  } finally {
    cancel();
  }
}
