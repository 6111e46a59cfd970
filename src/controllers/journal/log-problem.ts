import type { Log } from "../../ports/log.ts";
import type { JournalProblem } from "./segments.ts";

const CAUSES: Readonly<Record<Exclude<JournalProblem["kind"], "failed">, string>> = {
  tornTail: "a crash cut a write short, its bytes are dropped",
  corrupt: "a checksum is wrong, a copy of the segment is kept",
  unknownVersion: "another version wrote the segment, a copy of it is kept",
  unknownRecords: "another version wrote records, they are skipped",
};

/** Logs a journal problem with its details; the error behind a failure keeps its own cause and stack. */
export function logJournalProblem(log: Log, problem: JournalProblem): void {
  if (problem.kind === "failed") return log.error(`Failed to ${problem.what}`, problem.error);
  const { kind, ...fields } = problem;
  log.error("The journal was damaged", new Error(CAUSES[kind]), fields);
}
