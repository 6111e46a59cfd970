/** Counts the rows by priority and current state: a done row whose proofs are all stale counts as partial. */

import type { CheckedRow } from "./check.ts";
import { type Priority, priorities, type Standing } from "./ledger.ts";

export type Kind = Standing["kind"];

export const kinds = ["done", "partial", "todo", "wont"] as const satisfies readonly Kind[];

export const kindOf = ({ row, staleProofs }: CheckedRow): Kind =>
  row.standing.kind === "done" && staleProofs.length > 0 ? "partial" : row.standing.kind;

export interface CoverageLine {
  readonly label: Priority | "all";
  readonly total: number;
  readonly counts: Readonly<Record<Kind, number>>;
  /** Share of done rows among all rows that are not "wont". */
  readonly donePercent: number;
}

export function coverage(rows: readonly CheckedRow[]): readonly CoverageLine[] {
  const lines = priorities.map((priority) =>
    line(
      priority,
      rows.filter(({ row }) => row.priority === priority),
    ),
  );
  return [...lines, line("all", rows)];
}

function line(label: CoverageLine["label"], rows: readonly CheckedRow[]): CoverageLine {
  const count = (kind: Kind) => rows.filter((row) => kindOf(row) === kind).length;
  const counts = { done: count("done"), partial: count("partial"), todo: count("todo"), wont: count("wont") };
  const wanted = rows.length - counts.wont;
  return { label, total: rows.length, counts, donePercent: wanted === 0 ? 100 : (100 * counts.done) / wanted };
}
